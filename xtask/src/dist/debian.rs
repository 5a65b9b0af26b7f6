//! A Debian package, by the tool that every Debian has.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{finish, printed, write};
use crate::test::workspace_root;

/// Where the files of a release go in a system.
const COMPLETIONS: [(&str, &str); 3] = [
    ("taximeter.bash", "usr/share/bash-completion/completions/taximeter"),
    ("taximeter.zsh", "usr/share/zsh/vendor-completions/_taximeter"),
    ("taximeter.fish", "usr/share/fish/vendor_completions.d/taximeter.fish"),
];

/// Makes the package from a release, beside it. Where the tool is missing, there is none, and it is said.
pub fn package(release: &Path) -> Result<(), String> {
    let Ok(architecture) = printed(Command::new("dpkg").arg("--print-architecture")) else {
        println!("no Debian package is made: dpkg is not installed");
        return Ok(());
    };
    let architecture = String::from_utf8_lossy(&architecture).trim().to_string();
    let version = env!("CARGO_PKG_VERSION");
    let root = release.join("debian");
    let copy = |from: &Path, to: &str| {
        let to = root.join(to);
        let made = to.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::copy(from, &to).map(drop));
        made.map_err(|error| format!("{}: {error}", to.display()))
    };
    copy(&release.join("taximeter"), "usr/bin/taximeter")?;
    for (from, to) in COMPLETIONS {
        copy(&release.join("completions").join(from), to)?;
    }
    for page in fs::read_dir(release.join("man/man1")).map_err(|error| error.to_string())? {
        let page = page.map_err(|error| error.to_string())?;
        copy(&page.path(), &format!("usr/share/man/man1/{}", page.file_name().to_string_lossy()))?;
    }
    finish(Command::new("gzip").args(["-9nr", "usr/share/man"]).current_dir(&root))?;
    copy(&workspace_root().join("LICENSE"), "usr/share/doc/taximeter/copyright")?;
    copy(&workspace_root().join("deploy/grafana.json"), "usr/share/doc/taximeter/examples/grafana.json")?;
    // The unit is an example: where the witness is must be decided first.
    let unit =
        fs::read_to_string(workspace_root().join("deploy/taximeter.service")).map_err(|error| error.to_string())?;
    let unit = unit.replace("/usr/local/bin/", "/usr/bin/");
    write(&root.join("usr/share/doc/taximeter/examples/taximeter.service"), unit.as_bytes())?;
    fs::create_dir_all(root.join("DEBIAN")).map_err(|error| error.to_string())?;
    write(&root.join("DEBIAN/control"), control(version, &architecture).as_bytes())?;
    let package = format!("taximeter_{version}_{architecture}.deb");
    let mut build = Command::new("dpkg-deb");
    finish(build.args(["--root-owner-group", "--build", "debian", &package]).current_dir(release))?;
    fs::remove_dir_all(&root).map_err(|error| error.to_string())
}

/// What the system is told about the package. SQLite and TLS are in the program; the C library is the system's.
fn control(version: &str, architecture: &str) -> String {
    format!(
        "Package: taximeter\nVersion: {version}\nArchitecture: {architecture}\nSection: database\nPriority: optional\n\
         Maintainer: Taximeter <maintainers@taximeter.invalid>\nDepends: libc6, libgcc-s1\n\
         Description: privacy budgets for people who choose the next question after the last answer\n \
         Privacy filters and odometers, a durable ledger, a gate in front of data, a server and a dashboard.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Debian's own tool takes the control file and puts every file where it belongs.
    #[test]
    fn a_package_is_made_from_a_release() {
        let release = tempfile::tempdir().unwrap();
        for (file, _) in COMPLETIONS.iter().chain(&[("../man/man1/taximeter.1", ""), ("../taximeter", "")]) {
            let path = release.path().join("completions").join(file);
            fs::create_dir_all(release.path().join("completions")).unwrap();
            fs::create_dir_all(release.path().join("man/man1")).unwrap();
            fs::write(path, "x").unwrap();
        }
        package(release.path()).unwrap();
        let made = fs::read_dir(release.path()).unwrap().map(|file| file.unwrap().path());
        let Some(package) = made.into_iter().find(|path| path.extension().is_some_and(|end| end == "deb")) else {
            assert!(Command::new("dpkg").arg("--version").output().is_err(), "dpkg made no package");
            return;
        };
        let contents = printed(Command::new("dpkg-deb").arg("--contents").arg(&package)).unwrap();
        let contents = String::from_utf8_lossy(&contents);
        for file in ["./usr/bin/taximeter", "./usr/share/man/man1/taximeter.1.gz", COMPLETIONS[0].1] {
            assert!(contents.contains(file), "{file}: {contents}");
        }
        let fields = printed(Command::new("dpkg-deb").arg("--field").arg(&package)).unwrap();
        assert!(String::from_utf8_lossy(&fields).contains("Package: taximeter"));
    }
}
