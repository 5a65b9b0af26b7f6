//! What is written of a filter or an odometer is read back as it was, as text and in a binary format, and damage is not read as
//! something else.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use taximeter_accounting::{
    Amount, Budget, Cost, CostKind, Filter, FilterRule, FilterSpec, FineAmount, Granularity, Odometer,
    OdometerParameters, OdometerRule, OdometerSpec, OnHalt, Verdict,
};

fn amount(text: &str) -> Amount {
    Amount::parse_exact(text).unwrap()
}

/// Costs of every kind and very different sizes.
fn mixed_ride() -> Vec<Cost> {
    let sizes = ["0.05", "1e-30", "0.123456789012345678901234567891", "3", "0"];
    let kinds = |size: &&str| {
        let (size, delta) = (amount(size), amount("1e-9"));
        CostKind::ALL
            .into_iter()
            .map(move |kind| kind.example().with_size(size))
            .chain([Cost::approximate(size, delta).unwrap()])
    };
    sizes.iter().flat_map(kinds).collect()
}

/// Fresh filters of every rule, refusing and stopping, with and without a part of δ set aside.
fn filters() -> Vec<Filter> {
    let mut filters = Vec::new();
    for rule in FilterRule::ALL {
        for (on_halt, max_cost, set_aside) in
            [(OnHalt::Refuse, None, "0"), (OnHalt::Refuse, Some(amount("2.5")), "3e-7"), (OnHalt::Stop, None, "3e-7")]
        {
            let budget = Budget::parse("1.5,1e-6").unwrap().with_mechanism_delta(amount(set_aside)).unwrap();
            let spec = FilterSpec { on_halt, max_cost, ..FilterSpec::new(rule, budget) };
            filters.push(Filter::new(spec).unwrap());
        }
    }
    filters
}

/// Fresh odometers of every rule, with and without a part of δ set aside.
fn odometers() -> Vec<Odometer> {
    let gamma = OdometerParameters::Advanced { granularity: Some(Granularity::Gamma(amount("0.01"))) };
    let scale = OdometerParameters::RenyiMixture { scale: Some(amount("20.0816")), slack: None };
    let rules = OdometerRule::ALL.into_iter().map(OdometerParameters::from).chain([gamma, scale]);
    let specs = rules.flat_map(|parameters| {
        ["0", "3e-7"].map(|set_aside| OdometerSpec {
            parameters,
            mechanism_delta: amount(set_aside),
            ..OdometerSpec::new(parameters.rule(), amount("1e-6"))
        })
    });
    specs.map(|spec| Odometer::new(spec).unwrap()).collect()
}

/// Every state on the way through a mixed ride, and one whose sums are infinite.
fn driven() -> (Vec<Filter>, Vec<Odometer>) {
    let (mut all_filters, mut all_odometers) = (Vec::new(), Vec::new());
    for mut filter in filters() {
        all_filters.push(filter.clone());
        for cost in mixed_ride() {
            let _ = filter.charge(&cost);
        }
        all_filters.push(filter);
    }
    for mut odometer in odometers() {
        all_odometers.push(odometer.clone());
        for cost in mixed_ride() {
            let _ = odometer.charge(&cost);
        }
        all_odometers.push(odometer.clone());
        let much = Cost::approximate(Amount::MAX, amount("0.5")).unwrap();
        odometer.charge_times(&much, u64::MAX).unwrap();
        all_odometers.push(odometer);
    }
    (all_filters, all_odometers)
}

fn check_round_trips<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let text = serde_json::to_string(value).unwrap();
    let read: T = serde_json::from_str(&text).unwrap();
    assert_eq!(&read, value);
    assert_eq!(serde_json::to_string(&read).unwrap(), text);

    let bytes = postcard::to_allocvec(value).unwrap();
    let read: T = postcard::from_bytes(&bytes).unwrap();
    assert_eq!(&read, value, "{text}");
    assert_eq!(postcard::to_allocvec(&read).unwrap(), bytes, "{text}");
    assert!(bytes.len() < text.len(), "{} bytes for {text}", bytes.len());
}

#[test]
fn every_state_is_read_back_as_it_was_from_text_and_from_bytes() {
    let (filters, odometers) = driven();
    for filter in &filters {
        check_round_trips(filter);
        check_round_trips(filter.spec());
        check_round_trips(&filter.spec().budget);
    }
    for odometer in &odometers {
        check_round_trips(odometer);
        check_round_trips(odometer.spec());
    }
}

#[test]
fn every_amount_is_read_back_as_it_was_from_text_and_from_bytes() {
    for units in [0, 1, 127, 128, 255, 256, 10u128.pow(30), u128::MAX - 1, u128::MAX] {
        let amount = Amount::from_units(units);
        let bytes = postcard::to_allocvec(&amount).unwrap();
        assert_eq!(postcard::from_bytes::<Amount>(&bytes).unwrap(), amount);
        for fine in [amount.into(), amount.square(), FineAmount::product(amount, Amount::UNIT)] {
            let bytes = postcard::to_allocvec(&fine).unwrap();
            assert_eq!(postcard::from_bytes::<FineAmount>(&bytes).unwrap(), fine);
            let text = serde_json::to_string(&fine).unwrap();
            assert_eq!(serde_json::from_str::<FineAmount>(&text).unwrap(), fine);
        }
    }
}

/// A length, then that number of bytes with the lowest first.
#[test]
fn a_fine_amount_has_one_binary_form() {
    let check = |bytes: &[u8], expected: Option<&str>| {
        let read = postcard::from_bytes::<FineAmount>(bytes).ok().map(|fine| fine.to_string());
        assert_eq!(read.as_deref(), expected, "{bytes:?}");
    };
    check(&[0], Some("0"));
    check(&[1, 7], Some("7e-60"));
    check(&[2, 0, 1], Some("2.56e-58"));
    check(&[1, 0], None);
    check(&[2, 7, 0], None);
    check(&[2, 7], None);
    let mut longest = [0xff; 33];
    longest[0] = 32;
    assert!(postcard::from_bytes::<FineAmount>(&longest).is_ok());
    let mut too_long = [0xff; 34];
    too_long[0] = 33;
    assert!(postcard::from_bytes::<FineAmount>(&too_long).is_err());
}

/// What is read in spite of damage is a state of its own: it can be charged, read and stored.
#[test]
fn damaged_bytes_are_refused_or_read_as_a_valid_state() {
    fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T, use_it: impl Fn(T)) {
        let bytes = postcard::to_allocvec(value).unwrap();
        for length in 0..bytes.len() {
            assert!(postcard::from_bytes::<T>(&bytes[..length]).is_err(), "{length} of {} bytes", bytes.len());
        }
        for at in 0..bytes.len() {
            for flipped in [0x01, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flipped;
                if let Ok(read) = postcard::from_bytes::<T>(&damaged) {
                    let again = postcard::to_allocvec(&read).unwrap();
                    assert_eq!(postcard::from_bytes::<T>(&again).unwrap(), read);
                    use_it(read);
                }
            }
        }
    }
    let cost = Cost::parse_epsilon("0.01").unwrap().cost;
    let (filters, odometers) = driven();
    for filter in filters {
        check(&filter, |mut filter| drop(filter.charge(&cost)));
    }
    for odometer in odometers {
        check(&odometer, |mut odometer| {
            odometer.charge(&cost).unwrap();
            assert!(odometer.reading().value >= 0.0);
        });
    }
}

/// A filter of version 1 kept its state in another form, with fields that are not known any more.
#[test]
fn a_state_of_another_version_is_refused_by_its_version() {
    let first = include_str!("../data/residue-filter-version-1.json");
    let error = serde_json::from_str::<Filter>(first).unwrap_err().to_string();
    assert!(error.contains("the state has version 1; this program reads version 2"), "{error}");
    assert!(postcard::from_bytes::<Filter>(&[1]).is_err());
}

/// The binary form is part of the interface as the text is: the same bytes on every machine, for every version 2.
#[test]
fn the_binary_form_is_the_same_on_every_machine() {
    let budget = Budget::parse("1,1e-6").unwrap();
    let mut filter = Filter::new(FilterSpec::new(FilterRule::Residue, budget)).unwrap();
    let spec = OdometerSpec::new(OdometerRule::RenyiMixture, budget.delta());
    let mut alone = Odometer::new(spec).unwrap();
    let mut beside = Odometer::new(OdometerSpec::beside(OdometerRule::RenyiMixture, &budget)).unwrap();
    let pure = ["0.01", "0.1", "0.003", "1e-9"].map(|epsilon| Cost::Pure { epsilon: amount(epsilon) });
    let noise = [Cost::Laplace { epsilon: amount("0.02") }, Cost::Gaussian { mu: amount("0.05") }];
    for cost in pure.iter().chain(&noise) {
        assert!(matches!(filter.charge(cost).unwrap(), Verdict::Continue));
        alone.charge(cost).unwrap();
        beside.charge(cost).unwrap();
    }
    let hexadecimal = |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let advice = "if this is meant, the state version must change with it";
    let written = hexadecimal(postcard::to_allocvec(&filter).unwrap());
    assert_eq!(written, include_str!("../data/residue-filter.hex").trim_end(), "{advice}");
    let written = hexadecimal(postcard::to_allocvec(&alone).unwrap());
    assert_eq!(written, include_str!("../data/renyi-mixture-odometer.hex").trim_end(), "{advice}");
    let written = hexadecimal(postcard::to_allocvec(&beside).unwrap());
    assert_eq!(written, include_str!("../data/renyi-mixture-odometer-beside-filter.hex").trim_end(), "{advice}");
}
