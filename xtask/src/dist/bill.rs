//! What the program is made of, as a bill of materials in the form of CycloneDX.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

/// Every package that is in the program, with its version and licence.
pub fn bill_of_materials(metadata: &Value) -> Result<Value, String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bill_lists_what_is_in_the_program_and_not_what_tests_need() {
        let package =
            |name: &str| json!({ "id": format!("{name} id"), "name": name, "version": "1.0.0", "license": "MIT" });
        let dependency =
            |name: &str, kind: Value| json!({ "pkg": format!("{name} id"), "dep_kinds": [{ "kind": kind }] });
        let packages = ["taximeter", "a", "b", "tests", "other"].map(package);
        let metadata = json!({
            "packages": packages,
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
