//! A gate in a temporary folder, with data behind it.

#![allow(dead_code, reason = "every test file uses a part of it")]

use std::path::{Path, PathBuf};

use taximeter_accounting::{Amount, Budget, FilterRule, FilterSpec, OdometerRule, OdometerSpec};
use taximeter_gate::{
    Answer, CsvForm, Data, Declaration, Error, Gate, GateOutcome, Price, PrivacyUnit, PublicTable, Registered,
    Registration, Request, Rules,
};
use taximeter_ledger::{AccountName, Ledger, Location, Options};
use tempfile::TempDir;

pub struct Setup {
    pub gate: Gate,
    pub folder: TempDir,
}

impl Setup {
    /// A gate with an embedded ledger.
    pub fn new() -> Setup {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::File(folder.path().join("taximeter.db"));
        Setup::with_ledger(folder, &location)
    }

    /// A gate on a ledger elsewhere.
    pub fn with_ledger(folder: TempDir, location: &Location) -> Setup {
        let options = Options { create: true, witness: Some(folder.path().join("witness")), ..Options::default() };
        let ledger = Ledger::open(location, options).unwrap();
        Setup { gate: Gate::open(&folder.path().join("gate"), ledger).unwrap(), folder }
    }

    /// Writes a CSV file.
    pub fn csv(&self, text: &str) -> PathBuf {
        let path = self.folder.path().join("data.csv");
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Registers a CSV file.
    pub fn add(&self, name: &str, csv: &str, schema: &str, budget: &str) -> Registered {
        self.register(self.registration(name, csv, schema, Some(rules(FilterRule::Residue, budget)))).unwrap()
    }

    /// Registers a public table.
    pub fn add_public(&self, name: &str, csv: &Path) {
        let table = PublicTable::from_csv(account(name), csv, &CsvForm::default()).unwrap();
        self.gate.catalog().put_public_table(&table, false).unwrap();
    }

    pub fn registration(&self, name: &str, csv: &str, schema: &str, rules: Option<Rules>) -> Registration {
        Registration { rules, ..Registration::new(account(name), declaration(schema), Data::csv(self.csv(csv))) }
    }

    pub fn register(&self, registration: Registration) -> Result<Registered, Error> {
        self.gate.register(&registration, &mut |_, _| {})
    }

    pub fn ask(&self, request: &Request) -> GateOutcome {
        self.gate.ask(request).unwrap_or_else(|error| panic!("{}: {error}", request.question))
    }

    pub fn charges(&self, name: &str) -> u64 {
        self.gate.ledger().account(&account(name)).unwrap().charges()
    }

    pub fn records(&self) -> PathBuf {
        self.folder.path().join("gate").join("gate.db")
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// What a schema declares, and a row as the unit if it declares none.
pub fn declaration(schema: &str) -> Declaration {
    let mut declaration = Declaration::parse(schema).unwrap();
    declaration.unit.get_or_insert(PrivacyUnit::Row);
    declaration
}

pub fn account(name: &str) -> AccountName {
    AccountName::parse(name).unwrap()
}

pub fn amount(text: &str) -> Amount {
    Amount::parse_exact(text).unwrap()
}

pub fn rules(rule: FilterRule, budget: &str) -> Rules {
    let budget = Budget::parse(budget).unwrap();
    Rules {
        filter: Some(FilterSpec::new(rule, budget)),
        odometer: OdometerSpec::beside(OdometerRule::RenyiMixture, &budget),
    }
}

/// A question at an ε.
pub fn request(dataset: &str, question: &str, epsilon: &str) -> Request {
    Request::new(&account(dataset), question, Price::Epsilon(amount(epsilon))).unwrap()
}

pub fn answered(outcome: GateOutcome) -> Answer {
    match outcome {
        GateOutcome::Answered(answer) => answer,
        other => panic!("there is no answer: {other:?}"),
    }
}

/// The document of an answer.
pub fn document(answer: &Answer) -> serde_json::Value {
    serde_json::from_str(&answer.document).unwrap()
}

/// The groups of an answer by their first key, and the first number of each, almost without noise.
pub fn group_counts(setup: &Setup, dataset: &str, question: &str) -> Vec<(String, f64)> {
    let answer = answered(setup.ask(&request(dataset, question, "5000")));
    let document = document(&answer);
    let keys = document["rows"].as_array().unwrap().iter().map(|row| match &row[0] {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    keys.enumerate().map(|(row, key)| (key, answer.value(row, 1).unwrap().round())).collect()
}
