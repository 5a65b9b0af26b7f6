//! Questions in SQL: parsed against a schema, planned, and run on made-up rows.

use std::sync::LazyLock;

use taximeter_accounting::{Amount, Budget, FilterRule, FilterSpec, OdometerRule, OdometerSpec};
use taximeter_gate::{
    CsvForm, Data, Declaration, DummyAnswer, Gate, NoiseKind, Prepared, Price, PublicTable, Registration, Request,
    Rules,
};
use taximeter_ledger::{AccountName, Ledger, Location, Options};

const SCHEMA: &str = r#"
    unit = { column = "person", max_rows_per_unit = 3 }
    [columns.age]
    bounds = [0, 120]
    [columns.wage]
    bounds = [0, 5000]
    grid = 0.01
    [columns.income]
    bounds = [-10.5, 200000]
    [columns.born]
    bounds = [1950-01-01, 2020-12-31]
    [columns.seen]
    bounds = ["2024-01-01 00:00:00", "2024-12-31 23:59:00"]
    [columns.region]
    categories = ["north", "south", "it's"]
    [columns.year]
    categories = [1, 2, 3]
    [columns.employed]
    categories = [false, true]
"#;

const ROWS: &str = "person,age,wage,income,born,seen,region,year,employed,name,height,\"_Odd \"\"one\"\"\"
1,30,12.50,1000.5,1990-05-06,2024-05-06 07:08:09,north,1,true,Ada,1.75,3
2,40,0.01,-3.25,1951-01-02,2024-02-29 00:00:00,it's,3,false,Bob,1.5,-4
";

const PLACES: &str = "place,country,people\nnorth,A,100\nsouth,B,200\n";

/// A gate with a dataset and a public table. Its files are gone as soon as it is open: nothing here reads data.
static GATE: LazyLock<Gate> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let options = Options { create: true, ..Options::default() };
    let ledger = Ledger::open(&Location::File(path("ledger.db")), options).unwrap();
    let gate = Gate::open(&path("gate"), ledger).unwrap();
    std::fs::write(path("rows.csv"), ROWS).unwrap();
    std::fs::write(path("places.csv"), PLACES).unwrap();
    let budget = Budget::parse("1,1e-6").unwrap();
    let filter = Some(FilterSpec::new(FilterRule::Residue, budget));
    let rules = Rules { filter, odometer: OdometerSpec::beside(OdometerRule::RenyiMixture, &budget) };
    let declaration = Declaration::parse(SCHEMA).unwrap();
    let registration = Registration::new(name("census"), declaration, Data::csv(path("rows.csv")));
    gate.register(&Registration { rules: Some(rules), ..registration }, &mut |_, _| {}).unwrap();
    let places = PublicTable::from_csv(name("places"), &path("places.csv"), &CsvForm::default()).unwrap();
    gate.catalog().put_public_table(&places, false).unwrap();
    gate
});

/// The gate that questions are asked of; it has answered none.
pub fn gate() -> &'static Gate {
    &GATE
}

fn name(name: &str) -> AccountName {
    AccountName::parse(name).unwrap()
}

fn amount(text: &str) -> Amount {
    Amount::parse_exact(text).unwrap()
}

/// A question is refused, or it is planned: with noise for a sensitivity above 0, at no more than the price, and with SQL that its
/// engine runs. What it is written as is the same question.
pub fn check(data: &[u8]) {
    let Some(text) = super::text(data) else { return };
    let (epsilon, delta) = (amount("0.5"), amount("1e-6"));
    let prices = [
        Price::Epsilon(epsilon),
        Price::Approximate { epsilon, delta },
        Price::Gaussian(epsilon),
        Price::Error { width: "10".parse().unwrap(), noise: NoiseKind::Laplace },
    ];
    let catalog = GATE.catalog();
    let mut request = Request::new(&name("census"), text, prices[data.len() % prices.len()]).unwrap();
    request.count_clamped = data.len() % 5 == 4;
    let Ok(prepared) = Prepared::new(catalog, &request) else { return };
    if !matches!(request.price, Price::Error { .. }) {
        assert!(prepared.cost().size() <= epsilon, "{:?}", prepared.cost());
    }
    for part in prepared.parts() {
        let sensitivity: f64 = part.sensitivity.to_string().parse().unwrap();
        // What is the same in every row is moved by no unit where only its distance from there is summed; it gets noise all the same.
        assert!(sensitivity > 0.0 || sensitivity == 0.0 && is_constant(&part.measure), "{part:?}");
        assert!(sensitivity.is_finite(), "{part:?}");
        assert!(part.scale.0 > 0.0 && part.scale.0.is_finite(), "{part:?}");
    }
    request.question = prepared.canonical().to_string();
    let again = Prepared::new(catalog, &request).unwrap_or_else(|error| panic!("{}: {error}", prepared.canonical()));
    assert_eq!((again.canonical(), again.cost()), (prepared.canonical(), prepared.cost()));
    assert_eq!((again.sql(), again.parts()), (prepared.sql(), prepared.parts()));
    if let Err(error) = DummyAnswer::new(catalog, &request, 7) {
        panic!("{}: {error}", prepared.canonical());
    }
}

/// Whether a measure says that what it sums has only one value: `sum of an expression from 3 to 3`.
fn is_constant(measure: &str) -> bool {
    let range = measure.split_once(" from ").and_then(|(_, range)| range.split_once(" to "));
    range.is_some_and(|(low, high)| high.split(' ').next() == Some(low))
}
