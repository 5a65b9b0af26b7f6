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
    use taximeter_testing::{PrivatePostgres, query};
    let url = PrivatePostgres::shared().new_database().unwrap();
    let csv = text(name, &format!("{name}.csv"));
    let columns = typed_columns(&csv, schema);
    let types: Vec<String> = columns.iter().map(|(column, kind)| format!("\"{column}\" {kind}")).collect();
    // No field has a comma in it.
    let row = |line: &str| {
        let fields = line.split(',').map(|field| match field {
            "" => "NULL".to_string(),
            field => format!("'{}'", field.replace('\'', "''")),
        });
        format!("({})", fields.collect::<Vec<_>>().join(", "))
    };
    query(&url, &format!("CREATE TABLE {name} ({})", types.join(", "))).unwrap();
    for rows in csv.lines().skip(1).map(row).collect::<Vec<_>>().chunks(300) {
        query(&url, &format!("INSERT INTO {name} VALUES {}", rows.join(", "))).unwrap();
    }
    setup_of(name, schema, Data::Postgres { url, table: name.to_string() })
}

/// The same dataset in a Parquet file that a cluster reads, where a row must be the unit.
#[cfg(feature = "driver-tests")]
pub fn setup_on_sail(name: &str, schema: &str, sail: &taximeter_testing::PrivateSail) -> Setup {
    use taximeter_gate::{DriverChoice, RemoteService, RemoteTable};
    let setup = Setup::new();
    let path = folder(name).join(format!("{name}.csv"));
    let columns = typed_columns(&text(name, &format!("{name}.csv")), schema);
    let casts: Vec<String> =
        columns.iter().map(|(column, kind)| format!("CAST(\"{column}\" AS {kind}) AS \"{column}\"")).collect();
    let rows = format!("read_csv('{}', all_varchar = true, nullstr = '')", path.display());
    let rows = format!("SELECT {} FROM {rows}", casts.join(", "));
    let path = crate::duckdb::parquet(&setup, "rows.parquet", &rows);
    let table = format!("parquet.{}", path.display());
    let table = RemoteTable { service: RemoteService::Flightsql, uri: sail.uri(), table, credentials: None };
    let driver = DriverChoice { driver: "flightsql".to_string(), entry: None };
    let of_rows =
        |line: &str| if line.starts_with("unit =") { "unit = \"row\"\n".to_string() } else { format!("{line}\n") };
    filled(setup, name, &schema.lines().map(of_rows).collect::<String>(), Data::Remote { table, driver })
}

/// The columns of a file, with the types that databases have for what is declared.
#[cfg(any(feature = "server-tests", feature = "driver-tests"))]
fn typed_columns(csv: &str, schema: &str) -> Vec<(String, &'static str)> {
    use taximeter_gate::ColumnType;
    let declaration = Declaration::parse(schema).unwrap();
    let type_of = |column: &str| {
        let declared = declaration.columns().iter().find(|declared| declared.name == column);
        match declared.and_then(|declared| declared.kind) {
            Some(ColumnType::Integer) => "bigint",
            Some(ColumnType::Real) => "double precision",
            Some(ColumnType::Decimal) => "numeric(12, 2)",
            Some(ColumnType::Boolean) => "boolean",
            Some(ColumnType::Date) => "date",
            Some(ColumnType::Timestamp) => "timestamp",
            Some(ColumnType::Text) | None => "text",
        }
    };
    csv.lines().next().unwrap().split(',').map(|column| (column.to_string(), type_of(column))).collect()
}

fn setup_of(name: &str, schema: &str, data: Data) -> Setup {
    filled(Setup::new(), name, schema, data)
}

/// A gate with the dataset and the public tables beside it.
fn filled(setup: Setup, name: &str, schema: &str, data: Data) -> Setup {
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
    check_answers(|name| setup(name, CsvEngine::Sqlite));
}

#[test]
#[cfg(feature = "driver-tests")]
fn what_analysts_ask_is_answered_by_duckdb() {
    let engine = CsvEngine::Duckdb(taximeter_gate::DriverChoice::default());
    check_answers(|name| setup(name, engine.clone()));
}

#[test]
#[cfg(feature = "server-tests")]
fn what_analysts_ask_is_answered_by_postgres() {
    check_answers(|name| setup_on_postgres(name, &text(name, "schema.toml")));
}

fn check_answers(setup: impl Fn(&str) -> Setup) {
    let mut refused = Vec::new();
    let mut asked = 0;
    for name in ["labour", "health", "flights"] {
        let setup = setup(name);
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
