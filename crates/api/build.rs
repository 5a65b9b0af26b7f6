//! Says how types of other crates look in the document that describes the API.

/// A type, and what describes it.
const SCHEMAS: [(&str, &str); 17] = [
    ("AccountName", "crate::text::NameSchema"),
    ("Amount", "crate::cost::AmountDocument"),
    ("Computed", "f64"),
    ("Cost", "crate::cost::CostSchema"),
    ("DeclaredCost", "crate::cost::DeclaredCostSchema"),
    ("FilterRule", "crate::rules::FilterRuleSchema"),
    ("Hash", "String"),
    ("JsonNumber", "f64"),
    ("LedgerId", "String"),
    ("Neighbours", "crate::account::NeighboursSchema"),
    ("Note", "String"),
    ("OdometerRule", "crate::rules::OdometerRuleSchema"),
    ("OnHalt", "crate::rules::OnHaltSchema"),
    ("RawRecord", "Object"),
    ("Standing", "String"),
    ("Unit", "crate::text::UnitSchema"),
    ("Who", "String"),
];

fn main() {
    let config = utoipa_config::Config::new();
    SCHEMAS.into_iter().fold(config, |config, (name, schema)| config.alias_for(name, schema)).write_to_file();
    println!("cargo::rerun-if-changed=build.rs");
}
