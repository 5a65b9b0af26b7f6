//! Public tables: registering them, and questions that join them to a dataset.

mod answers;
mod reading;
mod registering;

use crate::common::{Setup, account, request, rules};
use taximeter_accounting::FilterRule;
use taximeter_gate::{CsvForm, Error, Prepared, PublicTable};

/// A flight: its carrier, which may be unknown or missing, a delay, and a day of January.
#[derive(Clone, Copy)]
struct Flight {
    carrier: Option<&'static str>,
    delay: i64,
    day: u32,
}

/// An airline: its alliance, its aircraft and its rate may be missing.
#[derive(Clone, Copy)]
struct Airline {
    code: &'static str,
    alliance: Option<&'static str>,
    aircraft: Option<i64>,
    rate: f64,
    low_cost: bool,
    founded: &'static str,
}

const AIRLINES: [Airline; 5] = [
    Airline {
        code: "AA",
        alliance: Some("one"),
        aircraft: Some(900),
        rate: 1.25,
        low_cost: false,
        founded: "1926-04-15",
    },
    Airline { code: "B6", alliance: None, aircraft: Some(250), rate: -0.5, low_cost: true, founded: "1998-08-01" },
    Airline { code: "DL", alliance: Some("sky"), aircraft: None, rate: 2.0, low_cost: false, founded: "1925-03-02" },
    Airline {
        code: "it's",
        alliance: Some("one"),
        aircraft: Some(-7),
        rate: 0.0,
        low_cost: true,
        founded: "2000-02-29",
    },
    Airline {
        code: "zz",
        alliance: Some("sky"),
        aircraft: Some(40),
        rate: 0.75,
        low_cost: false,
        founded: "2010-12-31",
    },
];

const SCHEMA: &str = r#"
    [columns.carrier]
    type = "text"
    [columns.delay]
    bounds = [-60, 60]
    [columns.day]
    type = "date"
    bounds = ["2024-01-01", "2024-01-31"]
    [columns.code]
    type = "integer"
    bounds = [0, 9]
    [columns.pier]
    type = "text"
"#;

/// Of all combinations about equally many, in no order.
fn flights() -> Vec<Flight> {
    let carriers = [Some("AA"), Some("B6"), Some("DL"), Some("it's"), Some("??"), Some("aa"), None];
    let flight = |at: u64| {
        let mixed = at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
        Flight {
            carrier: carriers[(mixed % 7) as usize],
            delay: (mixed / 7 % 141) as i64 - 70,
            day: (mixed / 1000 % 31) as u32 + 1,
        }
    };
    (1..=700).map(flight).collect()
}

fn flights_csv() -> String {
    let row = |(at, flight): (usize, &Flight)| {
        let Flight { carrier, delay, day } = flight;
        format!("{},{delay},2024-01-{day:02},{},{}\n", carrier.unwrap_or(""), at % 10, 100 + at % 10)
    };
    let rows: String = flights().iter().enumerate().map(row).collect();
    format!("carrier,delay,day,code,pier\n{rows}")
}

fn airlines_csv() -> String {
    let row = |airline: &Airline| {
        let Airline { code, alliance, aircraft, rate, low_cost, founded } = airline;
        let aircraft = aircraft.map(|aircraft| aircraft.to_string()).unwrap_or_default();
        format!("{code},{},{aircraft},{rate},{low_cost},{founded},\"x, \"\"y\"\"\"\n", alliance.unwrap_or(""))
    };
    // A row without a key has no counterpart, not even a flight without a carrier.
    let rows: String = AIRLINES.iter().map(row).collect();
    format!("code,alliance,aircraft,rate,low_cost,founded,note\n{rows},lost,1,1,true,2001-01-01,\n")
}

fn public(setup: &Setup, name: &str, csv: &str) -> Result<PublicTable, Error> {
    let path = setup.path().join(format!("{name}.csv"));
    std::fs::write(&path, csv).unwrap();
    PublicTable::from_csv(account(name), &path, &CsvForm::default())
}

fn add_public(setup: &Setup, name: &str, csv: &str) {
    setup.gate.catalog().put_public_table(&public(setup, name, csv).unwrap(), false).unwrap();
}

/// Public tables beside flights.
fn add_tables(setup: &Setup) {
    add_public(setup, "airlines", &airlines_csv());
    add_public(setup, "alliances", "alliance,seat\none,Texas\nsky,Atlanta\nlost,nowhere\n");
    let day = |day: u32| format!("2024-01-{day:02},{}\n", if day % 7 == 1 { "holiday" } else { "workday" });
    add_public(setup, "calendar", &format!("day,kind\n{}", (1..=30).map(day).collect::<String>()));
    add_public(setup, "piers", "pier,hall\n100,A\n101,A\n102,B\n");
    add_public(setup, "digits", "code,parity\n0,even\n1,odd\n2,even\n3,odd\n");
}

fn setup() -> Setup {
    let setup = Setup::new();
    let rules = rules(FilterRule::Basic, "100000000,1e-6");
    setup.register(setup.registration("flights", &flights_csv(), SCHEMA, Some(rules))).unwrap();
    add_tables(&setup);
    setup
}

fn prepare(setup: &Setup, question: &str) -> Result<Prepared, Error> {
    Prepared::new(setup.gate.catalog(), &request("flights", question, "1"))
}
