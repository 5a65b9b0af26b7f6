//! The report as an entry of the Differential Privacy Deployments Registry (OpenDP), with the fields that its entries had in 2026.

use serde_json::{Map, Value, json};
use taximeter_service::DatasetDocument;
use taximeter_service::words::{counted, show_share};

use super::ToldArgs;
use super::contents::PublicReport;
use crate::ledger::show::budget;

/// The entry. What is not known is left out.
pub fn entry(report: &PublicReport, told: &ToldArgs) -> Value {
    let account = &report.account;
    let spent = account.filter.as_ref().map(|filter| {
        format!(
            "{} of the budget is left after {}. {}: {}",
            show_share(filter.left.share.0),
            counted(account.charges, "charge", "charges"),
            filter.guarantee,
            filter.citation
        )
    });
    let (flavor, parameters) = match account.filter.as_ref().map(|filter| &filter.budget) {
        None => ("Not limited: an odometer reads the loss", json!({})),
        Some(budget) if budget.delta.is_zero() => ("Pure DP", json!({ "epsilon": budget.epsilon })),
        Some(budget) => ("Approximate DP", json!({ "epsilon": budget.epsilon, "delta": budget.delta })),
    };
    let domains: Vec<String> = report.datasets.iter().map(domain).collect();
    let mechanisms: Vec<String> = report
        .paid
        .mechanisms
        .iter()
        .map(|(kind, count)| format!("{kind}: {}", counted(*count, "charge", "charges")))
        .collect();
    let mut product = Map::new();
    product.insert("name".to_string(), json!(title(report, told)));
    for (field, value) in [
        ("intended_use", &told.intended_use),
        ("data_product_region", &told.region),
        ("data_product_sector", &told.sector),
    ] {
        product.extend(value.iter().map(|value| (field.to_string(), json!(value))));
    }
    if !told.curator.is_empty() {
        product.insert("data_curators".to_string(), json!(told.curator));
    }
    product.insert("data_product_type".to_string(), json!("Summary statistics"));
    product.insert("publication_date".to_string(), json!(report.paid.opened.split('T').next()));
    json!({
        "status": "Draft",
        "deployment": {
            "product": product,
            "dp_flavor": {
                "name": flavor,
                "data_domain": domains.join("\n"),
                "unprotected_quantities": "Declared types, bounds, categories and limits on rows; the time that an answer takes.",
            },
            "privacy_loss": {
                "privacy_unit": account.unit,
                "privacy_unit_description": account.privacy().to_string(),
                "privacy_parameters": parameters,
                "privacy_parameters_description": spent,
            },
            "model": {
                "model_name": "Central",
                "release_type": "Many releases",
                "access_type": "Interactive",
                "actors": actors(report),
            },
            "accounting": {
                "composition": composition(report),
                "post_processing": "Arithmetic, order and selection among noisy numbers.",
            },
            "implementation": {
                "mechanisms": mechanisms.join("\n"),
                "justification": format!(
                    "Noise is sampled exactly on integers, from secure random bytes (Taximeter {}). The journal of all charges was \
                     recomputed from its first record, and is whole: ledger {}, {}.",
                    env!("CARGO_PKG_VERSION"),
                    report.ledger,
                    report.newest
                ),
            },
        },
    })
}

/// The fields of the registry that only people know, and that were not given.
pub fn missing(told: &ToldArgs) -> Vec<&'static str> {
    let given = [
        ("--curator", !told.curator.is_empty()),
        ("--intended-use", told.intended_use.is_some()),
        ("--region", told.region.is_some()),
        ("--sector", told.sector.is_some()),
    ];
    given.into_iter().filter(|(_, is_given)| !is_given).map(|(flag, _)| flag).collect()
}

/// What is published.
pub fn title(report: &PublicReport, told: &ToldArgs) -> String {
    told.title.clone().unwrap_or_else(|| report.account.account.to_string())
}

/// Who takes part, without names.
pub fn actors(report: &PublicReport) -> String {
    let with_budget = report.below.iter().filter(|account| account.filter.is_some()).count() as u64;
    let own = match with_budget {
        0 => "No analyst has a budget of their own".to_string(),
        count => format!("{} of their own within it", counted(count, "account has a budget", "accounts have budgets")),
    };
    format!("The owner declares the data and grants the budget. Analysts ask, and see noisy answers alone. {own}.")
}

/// How charges add up.
pub fn composition(report: &PublicReport) -> String {
    match &report.account.filter {
        Some(filter) => format!(
            "Fully adaptive: every question and its cost may depend on the answers before. The rule {} decides before each answer whether \
             the budget of {} admits it.",
            filter.rule,
            budget(&filter.budget)
        ),
        None => format!("Fully adaptive. The odometer {} bounds the loss so far.", report.account.odometer.rule),
    }
}

/// What is declared about a dataset.
fn domain(dataset: &DatasetDocument) -> String {
    let columns: Vec<&str> = dataset.schema.columns.iter().map(|column| column.name.as_str()).collect();
    let rows = match dataset.schema.max_rows_per_unit {
        None => "a row is the protected unit".to_string(),
        Some(most) => format!("at most {} of one {} count", counted(most.into(), "row", "rows"), dataset.schema.unit),
    };
    format!("{} (version {}): {rows}; columns {}", dataset.dataset, dataset.version, columns.join(", "))
}
