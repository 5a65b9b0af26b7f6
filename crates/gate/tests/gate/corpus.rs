//! The questions that analysts ask, as they write them: `tests/data/corpus`, with its own README.

use std::path::PathBuf;

use crate::common::{Setup, account, amount, answered};
use taximeter_accounting::{Budget, FilterRule, FilterSpec, OdometerRule, OdometerSpec};
use taximeter_gate::{
    AnswerDocument, BadRows, CsvEngine, CsvForm, Data, Declaration, Price, Registration, Request, Rules,
};

/// A dataset of the corpus, with so large a budget that every question is answered.
pub fn setup(name: &str, engine: CsvEngine) -> Setup {
    setup_with(name, &text(name, "schema.toml"), engine)
}

/// The same with another declaration.
pub fn setup_with(name: &str, schema: &str, engine: CsvEngine) -> Setup {
    let (path, form, bad_rows) = (folder(name).join(format!("{name}.csv")), CsvForm::default(), BadRows::default());
    setup_of(name, schema, Data::Csv { path, form, bad_rows, engine })
}

/// The same dataset in a table of PostgreSQL.
#[cfg(feature = "server-tests")]
pub fn setup_on_postgres(name: &str, schema: &str) -> Setup {
    use taximeter_gate::ColumnType;
    use taximeter_testing::{PrivatePostgres, query};
    let url = PrivatePostgres::shared().new_database().unwrap();
    let csv = text(name, &format!("{name}.csv"));
    let mut lines = csv.lines();
    let declaration = Declaration::parse(schema).unwrap();
    let columns: Vec<&str> = lines.next().unwrap().split(',').collect();
    let type_of = |column: &str| match declaration
        .columns()
        .iter()
        .find(|declared| declared.name == column)
        .and_then(|column| column.kind)
    {
        Some(ColumnType::Integer) => "bigint",
        Some(ColumnType::Real) => "double precision",
        Some(ColumnType::Decimal) => "numeric(12, 2)",
        Some(ColumnType::Boolean) => "boolean",
        Some(ColumnType::Date) => "date",
        Some(ColumnType::Timestamp) => "timestamp",
        Some(ColumnType::Text) | None => "text",
    };
    let types: Vec<String> = columns.iter().map(|column| format!("\"{column}\" {}", type_of(column))).collect();
    // No field has a comma in it.
    let row = |line: &str| {
        let fields = line.split(',').map(|field| match field {
            "" => "NULL".to_string(),
            field => format!("'{}'", field.replace('\'', "''")),
        });
        format!("({})", fields.collect::<Vec<_>>().join(", "))
    };
    query(&url, &format!("CREATE TABLE {name} ({})", types.join(", "))).unwrap();
    for rows in lines.map(row).collect::<Vec<_>>().chunks(300) {
        query(&url, &format!("INSERT INTO {name} VALUES {}", rows.join(", "))).unwrap();
    }
    setup_of(name, schema, Data::Postgres { url, table: name.to_string() })
}

fn setup_of(name: &str, schema: &str, data: Data) -> Setup {
    let setup = Setup::new();
    let declaration = Declaration::parse(schema).unwrap();
    let budget = Budget::parse("300000000,0.5").unwrap().with_mechanism_delta(amount("0.4")).unwrap();
    let rules = Rules {
        filter: Some(FilterSpec::new(FilterRule::Basic, budget)),
        odometer: OdometerSpec::beside(OdometerRule::RenyiMixture, &budget),
    };
    let registration = Registration { rules: Some(rules), ..Registration::new(account(name), declaration, data) };
    setup.register(registration).unwrap();
    for public in ["airlines", "airports"] {
        let path = folder(name).join(format!("{public}.csv"));
        if path.exists() {
            setup.add_public(public, &path);
        }
    }
    setup
}

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/corpus").join(name)
}

pub fn text(name: &str, file: &str) -> String {
    std::fs::read_to_string(folder(name).join(file)).unwrap()
}

/// The questions of a file: each begins with a line that says what it is about.
pub fn questions(name: &str, file: &str) -> Vec<String> {
    let mut questions: Vec<String> = Vec::new();
    for line in text(name, file).lines() {
        match line.starts_with("-- [") {
            true => questions.push(String::new()),
            false => {
                if let Some(question) = questions.last_mut() {
                    *question += &format!("{line}\n");
                }
            }
        }
    }
    questions
}

#[test]
fn what_analysts_ask_is_answered() {
    check_answers(&CsvEngine::Sqlite);
}

#[test]
#[cfg(feature = "driver-tests")]
fn what_analysts_ask_is_answered_by_duckdb() {
    check_answers(&CsvEngine::Duckdb(taximeter_gate::DriverChoice::default()));
}

fn check_answers(engine: &CsvEngine) {
    let mut refused = Vec::new();
    let mut asked = 0;
    for name in ["labour", "health", "flights"] {
        let setup = setup(name, engine.clone());
        for file in ["questions.sql", "more.sql", "styles.sql", "analysts.sql"] {
            for question in questions(name, file) {
                asked += 1;
                let price = Price::Approximate { epsilon: amount("20"), delta: amount("1e-6") };
                let request = Request::new(&account(name), &question, price).unwrap();
                match setup.gate.ask(&request) {
                    Ok(outcome) => {
                        let answer = answered(outcome);
                        // Of groups that are not declared, none may be large enough.
                        let document = AnswerDocument::read(&answer.document).unwrap();
                        let open = document.post_processing.iter().any(|said| said.contains("noisy number of rows"));
                        assert!(open || !document.rows.is_empty(), "{question}");
                    }
                    Err(error) => refused.push(format!("{name} {file}: {error}\n{question}")),
                }
            }
        }
    }
    assert!(refused.is_empty(), "{} of {asked} are refused:\n{}", refused.len(), refused.join("\n"));
}

#[test]
fn what_must_not_be_answered_is_refused() {
    for name in ["labour", "health", "flights"] {
        let setup = setup(name, CsvEngine::Sqlite);
        for question in questions(name, "refused.sql") {
            let price = Price::Approximate { epsilon: amount("20"), delta: amount("1e-6") };
            let request = Request::new(&account(name), &question, price).unwrap();
            let error = setup.gate.ask(&request).err().unwrap_or_else(|| panic!("{question} was answered"));
            assert!(error.is_input(), "{question}: {error}");
        }
    }
}
