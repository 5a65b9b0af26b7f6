//! `cargo xtask dist`: what a release is made of, in target/dist.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use serde_json::{Value, json};

use crate::test::{bare_cargo, workspace_root};

/// The shells that have completions.
const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// Makes the program, its manual pages and completions, the list of what is in it, and their checksums.
pub fn run(arguments: &[String]) -> ExitCode {
    if let Some(argument) = arguments.first() {
        eprintln!("error: dist takes no argument {argument:?}");
        return ExitCode::from(crate::WRONG_USAGE);
    }
    match make() {
        Ok(folder) => {
            println!("the release is in {}", folder.display());
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn make() -> Result<PathBuf, String> {
    let folder = workspace_root().join("target/dist");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let (man, completions) = (folder.join("man/man1"), folder.join("completions"));
    for folder in [&man, &completions] {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let mut build = bare_cargo("build");
    finish(build.args(["--release", "--locked", "--package", "taximeter"]))?;
    let program = folder.join("taximeter");
    fs::copy(workspace_root().join("target/release/taximeter"), &program).map_err(|error| error.to_string())?;
    finish(Command::new("strip").arg(&program))?;
    finish(Command::new(&program).arg("man").arg(&man))?;
    for shell in SHELLS {
        let script = printed(Command::new(&program).args(["completions", shell]))?;
        write(&completions.join(format!("taximeter.{shell}")), &script)?;
    }
    let metadata = printed(bare_cargo("metadata").args(["--format-version", "1", "--locked"]))?;
    let metadata = serde_json::from_slice(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let bill = serde_json::to_vec_pretty(&bill_of_materials(&metadata)?).map_err(|error| error.to_string())?;
    write(&folder.join("taximeter.cdx.json"), &bill)?;
    for document in ["LICENSE", "LICENSE-APACHE", "LICENSE-MIT", "CHANGELOG.md"] {
        fs::copy(workspace_root().join(document), folder.join(document)).map_err(|error| error.to_string())?;
    }
    let files = printed(Command::new("find").args([".", "-type", "f", "-printf", "%P\\n"]).current_dir(&folder))?;
    let files = String::from_utf8_lossy(&files);
    let names: BTreeSet<&str> = files.lines().collect();
    let sums = printed(Command::new("sha256sum").args(names).current_dir(&folder))?;
    write(&folder.join("SHA256SUMS"), &sums)?;
    Ok(folder)
}

/// Everything that the program is made of, in the form of CycloneDX.
fn bill_of_materials(metadata: &Value) -> Result<Value, String> {
    let text = |value: &Value| value.as_str().map(str::to_string);
    let packages = metadata["packages"].as_array().ok_or("cargo metadata: no packages")?;
    let packages: BTreeMap<String, &Value> =
        packages.iter().filter_map(|package| Some((text(&package["id"])?, package))).collect();
    let root = packages.iter().find(|(_, package)| package["name"] == "taximeter").map(|(id, _)| id.clone());
    let root = root.ok_or("cargo metadata: no package taximeter")?;
    let nodes = metadata["resolve"]["nodes"].as_array().ok_or("cargo metadata: no graph")?;
    let nodes: BTreeMap<String, &Value> = nodes.iter().filter_map(|node| Some((text(&node["id"])?, node))).collect();
    // What only tests and build scripts need is not in the program.
    let is_in_program = |dependency: &&Value| {
        dependency["dep_kinds"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
    };
    let (mut found, mut waiting) = (BTreeSet::new(), vec![root.clone()]);
    while let Some(id) = waiting.pop() {
        if found.insert(id.clone()) {
            let dependencies = nodes.get(&id).and_then(|node| node["deps"].as_array());
            waiting.extend(dependencies.into_iter().flatten().filter(is_in_program).filter_map(|it| text(&it["pkg"])));
        }
    }
    let component = |id: &String| {
        let package = packages.get(id)?;
        let (name, version) = (text(&package["name"])?, text(&package["version"])?);
        let mut component = json!({
            "type": "library", "name": name, "version": version, "purl": format!("pkg:cargo/{name}@{version}"),
        });
        if let Some(licence) = package["license"].as_str() {
            component["licenses"] = json!([{ "expression": licence }]);
        }
        Some(component)
    };
    let components: Vec<Value> = found.iter().filter(|id| **id != root).filter_map(component).collect();
    let program = component(&root).map(|mut program| {
        program["type"] = "application".into();
        program
    });
    Ok(json!({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": { "component": program }, "components": components,
    }))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

/// Runs a command to its end.
fn finish(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().display().to_string();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name} ended with {status}")),
        Err(error) => Err(format!("{name}: {error}")),
    }
}

/// What a command prints.
fn printed(command: &mut Command) -> Result<Vec<u8>, String> {
    let name = command.get_program().display().to_string();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(format!("{name} ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bill_lists_what_is_in_the_program_and_not_what_tests_need() {
        let package =
            |name: &str| json!({ "id": format!("{name} id"), "name": name, "version": "1.0.0", "license": "MIT" });
        let dependency =
            |name: &str, kind: Value| json!({ "pkg": format!("{name} id"), "dep_kinds": [{ "kind": kind }] });
        let metadata = json!({
            "packages": ["taximeter", "a", "b", "tests", "other"].map(package),
            "resolve": { "nodes": [
                { "id": "taximeter id", "deps": [dependency("a", Value::Null), dependency("tests", json!("dev"))] },
                { "id": "a id", "deps": [dependency("b", Value::Null), dependency("a", Value::Null)] },
                { "id": "b id", "deps": [] },
                { "id": "other id", "deps": [dependency("tests", Value::Null)] },
            ] },
        });
        let bill = bill_of_materials(&metadata).unwrap();
        let names: Vec<&str> =
            bill["components"].as_array().unwrap().iter().filter_map(|component| component["name"].as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(bill["metadata"]["component"]["purl"], "pkg:cargo/taximeter@1.0.0");
        assert!(bill_of_materials(&json!({})).is_err());
    }
}
