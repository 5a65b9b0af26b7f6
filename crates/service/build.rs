//! Says how types of other crates look in the document that describes the API.

/// A type, and what describes it.
const SCHEMAS: [(&str, &str); 17] = [
    ("AccountName", "crate::documents::text::NameSchema"),
    ("Amount", "crate::documents::cost::AmountDocument"),
    ("Computed", "f64"),
    ("Cost", "crate::documents::cost::CostSchema"),
    ("DeclaredCost", "crate::documents::cost::DeclaredCostSchema"),
    ("FilterRule", "crate::documents::rules::FilterRuleSchema"),
    ("Hash", "String"),
    ("JsonNumber", "f64"),
    ("LedgerId", "String"),
    ("Neighbours", "crate::documents::account::NeighboursSchema"),
    ("Note", "String"),
    ("OdometerRule", "crate::documents::rules::OdometerRuleSchema"),
    ("OnHalt", "crate::documents::rules::OnHaltSchema"),
    ("RawRecord", "Object"),
    ("Standing", "String"),
    ("Unit", "crate::documents::text::UnitSchema"),
    ("Who", "String"),
];

fn main() {
    let config = utoipa_config::Config::new();
    SCHEMAS.into_iter().fold(config, |config, (name, schema)| config.alias_for(name, schema)).write_to_file();
    println!("cargo::rerun-if-changed=build.rs");
}
