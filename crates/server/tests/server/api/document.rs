//! The OpenAPI document.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn the_document_has_the_ranges_of_costs_and_the_parameters_of_rules() {
    let document = TestServer::new().get("anonymous", "/openapi.json").await.expect(200).json();
    let schemas = &document["components"]["schemas"];
    let kinds = schemas["DeclaredCost"]["oneOf"].as_array().unwrap();
    let sampled = kinds.iter().find_map(|kind| kind["properties"].get("sampled_gaussian")).unwrap();
    let rate = &sampled["properties"]["rate"];
    assert_eq!((rate["exclusiveMinimum"].as_f64(), rate["maximum"].as_f64()), (Some(0.0), Some(1.0)), "{rate}");
    assert_eq!(sampled["properties"]["steps"]["multipleOf"].as_f64(), Some(1.0), "{sampled}");
    let epsilon = kinds.iter().find(|kind| kind["properties"].get("epsilon").is_some()).unwrap();
    let delta = &epsilon["properties"]["delta"];
    assert_eq!((delta["minimum"].as_f64(), delta["exclusiveMaximum"].as_f64()), (Some(0.0), Some(1.0)), "{delta}");
    for (request, rules) in [
        ("FilterRequest", FilterRule::ALL.map(FilterRule::parameters)),
        ("OdometerRequest", OdometerRule::ALL.map(OdometerRule::parameters)),
    ] {
        let described = &schemas[request]["properties"]["parameters"];
        assert_eq!(described["additionalProperties"], false, "{described}");
        for number in rules.into_iter().flatten() {
            assert_eq!(described["properties"][number.name]["description"], number.help(), "{described}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_describes_every_path_and_resolves_every_reference() {
    let document = TestServer::new().get("anonymous", "/openapi.json").await.expect(200).json();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    assert_eq!(document["info"]["title"], "Taximeter");
    assert_eq!(document["components"]["securitySchemes"]["token"]["scheme"], "bearer");
    for code in taximeter_service::Code::ALL {
        assert!(document["info"]["description"].as_str().unwrap().contains(&format!("`{}`", code.name())));
    }
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for name in ["Problem", "Code", "Refused", "Cost", "Neighbours", "AnswerDocument", "FilterRule", "OnHalt", "Amount"]
    {
        assert!(schemas.contains_key(name), "{name}");
    }
    let mut references = Vec::new();
    collect_references(&document, &mut references);
    assert!(references.len() > 100, "{}", references.len());
    for reference in references {
        let name = reference.strip_prefix("#/components/schemas/").unwrap_or_else(|| panic!("{reference}"));
        assert!(schemas.contains_key(name), "{name}");
    }
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let is_open = ["/healthz", "/readyz", "/openapi.json"].contains(&path.as_str());
            assert_eq!(operation["security"].is_null(), is_open, "{method} {path}");
            assert_eq!(operation["responses"]["401"].is_null(), is_open, "{method} {path}");
            assert!(operation["description"].is_string() || operation["summary"].is_string(), "{method} {path}");
        }
    }
    let key = &document["paths"]["/v1/charges"]["post"]["parameters"][0];
    assert_eq!(
        (&key["name"], &key["in"], &key["schema"]["maxLength"]),
        (&json!("Idempotency-Key"), &json!("header"), &json!(128))
    );
}

fn collect_references(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            references.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_string));
            fields.values().for_each(|value| collect_references(value, references));
        }
        Value::Array(values) => values.iter().for_each(|value| collect_references(value, references)),
        _ => {}
    }
}
