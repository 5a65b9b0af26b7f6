//! Where the browser's programs are.

use std::path::PathBuf;

/// The programs that a browser for tests needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowserPrograms {
    /// What takes orders: `chromedriver`.
    pub driver: PathBuf,
    /// The browser itself: `chromium`.
    pub browser: PathBuf,
}

/// The variables of the environment that say where the programs are, if they are not in the path.
pub const BROWSER_VARIABLES: [&str; 2] = ["TAXIMETER_CHROMEDRIVER", "TAXIMETER_CHROMIUM"];

/// The browser and its driver: those that the environment names, or else those in the path.
///
/// The error says what to install.
pub fn find_browser() -> Result<BrowserPrograms, String> {
    let [driver, browser] = BROWSER_VARIABLES;
    Ok(BrowserPrograms { driver: find(driver, "chromedriver")?, browser: find(browser, "chromium")? })
}

fn find(variable: &str, name: &str) -> Result<PathBuf, String> {
    let named = std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    choose(variable, name, named, std::env::split_paths(&path))
}

/// What is named must be there: another one in its place would hide the mistake.
fn choose(
    variable: &str,
    name: &str,
    named: Option<PathBuf>,
    mut path: impl Iterator<Item = PathBuf>,
) -> Result<PathBuf, String> {
    match named {
        Some(named) if named.is_file() => Ok(named),
        Some(named) => {
            Err(format!("{variable} is {}, and there is no such program; unset it or name another", named.display()))
        }
        None => path.find_map(|folder| Some(folder.join(name)).filter(|program| program.is_file())).ok_or_else(|| {
            format!(
                "there is no `{name}` in the path; install it with `apt-get install chromium chromium-driver`, or name it in \
                 {variable}, or run `cargo xtask test`, which installs it where it may"
            )
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_the_one_that_is_named_or_the_first_in_the_path() {
        let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let check = |named: Option<&str>, path: &[&str], expected: Result<&str, &str>| {
            let path = path.iter().map(|folder| here.join(folder));
            match (choose("VARIABLE", "lib.rs", named.map(|name| here.join(name)), path), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, here.join(expected)),
                (Err(message), Err(part)) => assert!(message.contains(part), "{message}"),
                (found, expected) => panic!("found {found:?}, expected {expected:?}"),
            }
        };
        check(None, &["nowhere", "src"], Ok("src/lib.rs"));
        check(Some("Cargo.toml"), &["src"], Ok("Cargo.toml"));
        check(Some("nowhere"), &["src"], Err("unset it"));
        check(None, &["nowhere"], Err("apt-get install chromium chromium-driver"));
        check(None, &[], Err("VARIABLE"));
    }
}
