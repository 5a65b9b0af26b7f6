//! The tests of the Python package: virtual environments with pinned peers, the wheel, and pytest.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::test::{outside_of_this_package, workspace_root};

/// An environment of the tests.
pub struct PythonTests {
    folder: PathBuf,
    /// The tests, with the list of the libraries that they need.
    tests: PathBuf,
}

/// Folders below `python/tests` whose libraries cannot be in one environment with the others.
pub const APART: [&str; 2] = ["with_smartnoise", "with_tumult"];

/// The folder of the tests that need gigabytes.
pub const WITH_TORCH: &str = "with_torch";

/// What the environment holds, as a file in it.
const HOLDS: &str = "requirements.txt";

const PIP_INSTALL: [&str; 5] = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];

impl PythonTests {
    /// The environment of a folder below `python/tests`, or of that folder itself; nothing if it is not there and must not be made.
    pub fn prepare(built: &Path, folder: &str, may_install: bool) -> Result<Option<PythonTests>, String> {
        let tests = PythonTests {
            folder: built.join("python-package").join(folder),
            tests: workspace_root().join("python/tests").join(folder),
        };
        let wanted = tests.tests.join(HOLDS);
        let wanted_text = fs::read_to_string(&wanted).map_err(|error| format!("{}: {error}", wanted.display()))?;
        let held = tests.folder.join(HOLDS);
        if fs::read_to_string(&held).is_ok_and(|text| text == wanted_text) {
            return Ok(Some(tests));
        }
        if !may_install {
            println!("the tests in {} are skipped: their libraries are not installed", tests.tests.display());
            return Ok(None);
        }
        println!(
            "installing the libraries that the tests in {} need, with pip, below {}",
            tests.tests.display(),
            built.display()
        );
        let mut make = Command::new("python3");
        run(make.args(["-m", "venv", "--clear"]).arg(tests.folder.join("venv")), "the environment could not be made")?;
        let mut install = tests.python();
        install.args(PIP_INSTALL).arg("-r").arg(&wanted);
        run(&mut install, "the libraries could not be installed")?;
        fs::write(&held, wanted_text).map_err(|error| format!("{}: {error}", held.display()))?;
        Ok(Some(tests))
    }

    /// Builds the wheel, in the profile of the other tests.
    pub fn build_wheel(&self) -> Result<PathBuf, String> {
        let wheels = self.folder.join("wheels");
        if wheels.exists() {
            fs::remove_dir_all(&wheels).map_err(|error| format!("{}: {error}", wheels.display()))?;
        }
        let mut build = outside_of_this_package(Command::new(self.folder.join("venv/bin/maturin")));
        let manifest = workspace_root().join("python/Cargo.toml");
        build.args(["build", "--quiet", "--locked", "--profile", "dev", "--manifest-path"]).arg(manifest);
        build.arg("--out").arg(&wheels).arg("--interpreter").arg(self.folder.join("venv/bin/python"));
        run(&mut build, "the wheel could not be built")?;
        let wheel = fs::read_dir(&wheels).into_iter().flatten().flatten().next();
        Ok(wheel.ok_or("maturin made no wheel")?.path())
    }

    /// Installs the wheel.
    pub fn install_wheel(&self, wheel: &Path) -> Result<(), String> {
        let mut install = self.python();
        install.args(PIP_INSTALL).args(["--no-deps", "--force-reinstall"]).arg(wheel);
        run(&mut install, "the wheel could not be installed")
    }

    /// The command that runs the tests.
    pub fn pytest(&self) -> Command {
        let mut pytest = Command::new(self.folder.join("venv/bin/pytest"));
        pytest.args(["-n", "2", "--quiet", "-p", "no:cacheprovider", "--basetemp"]).arg(self.folder.join("tmp"));
        // In the folder above, Python would import the sources, which have no library beside them.
        pytest.current_dir(&self.tests);
        pytest
    }

    fn python(&self) -> Command {
        Command::new(self.folder.join("venv/bin/python"))
    }
}

fn run(command: &mut Command, otherwise: &str) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{otherwise} ({status}); see above")),
        Err(error) => Err(format!("{otherwise}: {} could not be started: {error}", command.get_program().display())),
    }
}
