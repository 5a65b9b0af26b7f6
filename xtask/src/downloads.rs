//! What the tests need from package indexes, in the folder of what is built: it is fetched once, and goes with `cargo clean`.

use std::path::{Path, PathBuf};

use crate::needs::{output, succeeds};

/// What runs the tests, if there is none in the path. Pinned: it builds with the oldest compiler that the tests are run with.
const NEXTEST: &str = "0.9.143";

/// What tests the API against its own description. Pinned: a new release may find more, and that is a change of its own.
const SCHEMATHESIS: &str = "4.32.5";

/// What tests whether pages can be read and heard; pinned likewise.
const AXE: &str = "4.10.3";

/// The SHA-512 of axe-core's package.
const AXE_HASH: &str = "5e6edba515e70d25f6604d9815f064d859c5d1ea7ab661bbc4f87c88779ef0c21cae0abbeb636471ef39e9d62d2582e4b88a1866f19f4ecfcf6d986275e4dc12";

/// Takes one file out of a package of npm, after comparing its hash. Arguments: the URL, the hash, the file to write.
const FETCH: &str = r#"
import hashlib, io, pathlib, sys, tarfile, urllib.request
url, expected, target = sys.argv[1:]
package = urllib.request.urlopen(url, timeout=60).read()
found = hashlib.sha512(package).hexdigest()
if found != expected:
    sys.exit(f"{url} has the SHA-512 {found}, not {expected}")
script = tarfile.open(fileobj=io.BytesIO(package)).extractfile("package/axe.min.js").read()
pathlib.Path(target).parent.mkdir(parents=True, exist_ok=True)
pathlib.Path(target).write_bytes(script)
"#;

/// The program `cargo-nextest`: the one in the path, or else the one that is or will be in the folder of what is built.
pub fn nextest(built: &Path) -> PathBuf {
    let in_path = PathBuf::from("cargo-nextest");
    if runs(&in_path) { in_path } else { built.join("tools").join("bin").join("cargo-nextest") }
}

/// Whether there is one.
pub fn has_nextest(built: &Path) -> bool {
    runs(&nextest(built))
}

fn runs(nextest: &Path) -> bool {
    succeeds(nextest.to_str().unwrap_or_default(), &["nextest", "--version"])
}

/// Builds cargo-nextest, without optimisation: that takes less time than it saves.
pub fn fetch_nextest(built: &Path) -> Result<(), String> {
    let root = built.join("tools").display().to_string();
    must(&[
        "cargo",
        "install",
        "--quiet",
        "--locked",
        "--debug",
        "--version",
        NEXTEST,
        "--root",
        &root,
        "cargo-nextest",
    ])
}

/// The program `schemathesis`, where it is or will be.
pub fn schemathesis(built: &Path) -> PathBuf {
    built.join("python").join("bin").join("schemathesis")
}

/// Whether that is the version that is wanted.
pub fn has_schemathesis(built: &Path) -> bool {
    let program = schemathesis(built);
    let line = [program.to_str().unwrap_or_default(), "--version"];
    output(&line).is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim_end().ends_with(SCHEMATHESIS))
}

/// Makes a Python environment with schemathesis.
pub fn fetch_schemathesis(built: &Path) -> Result<(), String> {
    let environment = built.join("python");
    must(&["python3", "-m", "venv", "--clear", &environment.display().to_string()])?;
    let pip = environment.join("bin").join("pip").display().to_string();
    must(&[&pip, "install", "--quiet", "--disable-pip-version-check", &format!("schemathesis=={SCHEMATHESIS}")])
}

/// The script of axe-core, where it is or will be.
pub fn axe(built: &Path) -> PathBuf {
    built.join("axe").join(AXE).join("axe.min.js")
}

/// Fetches axe-core.
pub fn fetch_axe(built: &Path) -> Result<(), String> {
    let url = format!("https://registry.npmjs.org/axe-core/-/axe-core-{AXE}.tgz");
    must(&["python3", "-c", FETCH, &url, AXE_HASH, &axe(built).display().to_string()])
}

pub(crate) fn must(line: &[&str]) -> Result<(), String> {
    let output = output(line)?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "`{}` failed ({}); the tests fetch programs from crates.io, pypi.org and registry.npmjs.org\n{}",
            line.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim_end()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_was_run() {
        assert!(must(&["false", "-m", "venv"]).unwrap_err().contains("`false -m venv` failed"));
        assert!(must(&["/nowhere/python3"]).unwrap_err().contains("/nowhere/python3 could not be started"));
        assert!(!has_schemathesis(Path::new("/nowhere")));
    }
}
