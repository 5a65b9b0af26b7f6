//! What every odometer must do, and how tight the default one is.

use proptest::prelude::*;
use taximeter_accounting::reference::FixedRounds;
use taximeter_accounting::{
    Amount, Budget, Cost, CostKind, ErrorKind, Granularity, Odometer, OdometerParameters, OdometerRule, OdometerSpec,
    PricedCost, residue_of,
};

fn amount(text: &str) -> Amount {
    Amount::parse_exact(text).unwrap()
}

fn pure(text: &str) -> Cost {
    Cost::parse_epsilon(text).unwrap().cost
}

fn odometer(rule: OdometerRule, delta: &str) -> Odometer {
    Odometer::new(OdometerSpec::new(rule, amount(delta))).unwrap()
}

/// The default odometer beside a filter.
fn beside(budget: &str) -> Odometer {
    Odometer::new(OdometerSpec::beside(OdometerRule::RenyiMixture, &Budget::parse(budget).unwrap())).unwrap()
}

/// The default odometer with a scale that was chosen by hand.
fn with_scale(scale: &str) -> Result<Odometer, taximeter_accounting::Error> {
    let parameters = OdometerParameters::RenyiMixture { scale: Some(amount(scale)), slack: None };
    Odometer::new(OdometerSpec { parameters, ..OdometerSpec::new(OdometerRule::RenyiMixture, amount("1e-6")) })
}

/// The scale that was fixed when an odometer was made.
fn scale_of(spec: &OdometerSpec) -> Option<String> {
    match spec.parameters {
        OdometerParameters::RenyiMixture { scale, .. } => scale.map(|scale| scale.to_string()),
        _ => None,
    }
}

fn reading(rule: OdometerRule, delta: &str, cost: &Cost, times: u64) -> f64 {
    let mut odometer = odometer(rule, delta);
    odometer.charge_times(cost, times).unwrap();
    odometer.reading().value
}

#[test]
fn basic_adds_up_exactly_and_surely() {
    let mut basic = odometer(OdometerRule::Basic, "0");
    for _ in 0..10 {
        basic.charge(&pure("0.1")).unwrap();
    }
    let reading = basic.reading();
    assert_eq!(reading.value, 1.0);
    assert_eq!(reading.guarantee.to_string(), "|loss| ≤ reading, surely");
}

#[test]
fn nothing_charged_reads_nothing_where_basic_stands_beside_a_rule() {
    for rule in [OdometerRule::Basic, OdometerRule::NormalMixture, OdometerRule::Stitched, OdometerRule::RenyiMixture] {
        assert_eq!(odometer(rule, "1e-6").reading().value, 0.0, "{rule:?}");
    }
    for rule in [OdometerRule::Advanced, OdometerRule::FreeX] {
        assert!(odometer(rule, "1e-6").reading().value > 0.0, "{rule:?} is as printed");
    }
}

#[test]
fn a_cost_without_a_theorem_is_an_error_that_names_the_rule_that_has_one() {
    for rule in OdometerRule::ALL {
        let mut odometer = odometer(rule, "1e-6");
        let before = odometer.clone();
        for kind in [CostKind::SampledGaussian, CostKind::DiscreteGaussian, CostKind::Zcdp] {
            match odometer.charge(&kind.example().with_size(amount("0.1"))) {
                Ok(()) => assert_eq!(rule, OdometerRule::RenyiMixture),
                Err(error) => {
                    assert!(
                        matches!(error.kind(), ErrorKind::UnsupportedCost { .. })
                            && error.to_string().contains("renyi; odometers: renyi-mixture"),
                        "{error}"
                    );
                    assert_eq!(odometer, before);
                }
            }
        }
    }
}

#[test]
fn parameters_outside_a_theorem_are_refused_when_the_odometer_is_made() {
    let refused = |spec: OdometerSpec| Odometer::new(spec).unwrap_err().to_string();
    let at = |rule, delta: &str| refused(OdometerSpec::new(rule, amount(delta)));
    let with = |parameters: OdometerParameters| {
        refused(OdometerSpec { parameters, ..OdometerSpec::new(parameters.rule(), amount("1e-6")) })
    };
    let with_granularity = |granularity| with(OdometerParameters::Advanced { granularity: Some(granularity) });
    let all_set_aside = OdometerSpec {
        mechanism_delta: amount("1e-6"),
        ..OdometerSpec::new(OdometerRule::RenyiMixture, amount("1e-6"))
    };
    for (error, part) in [
        (at(OdometerRule::Advanced, "0.4"), "below 1/e"),
        (at(OdometerRule::FreeX, "0"), "above 0"),
        (at(OdometerRule::RenyiMixture, "0"), "a delta above 0 to read at"),
        (with_granularity(Granularity::Records(1)), "at least 2"),
        (with_granularity(Granularity::Gamma(amount("0.3"))), "at most 0.25"),
        (with(OdometerParameters::FreeX { x: Some(Amount::ZERO) }), "above 0"),
        (with(OdometerParameters::Stitched { v0: Some(Amount::ZERO), slack: None }), "above 0"),
        (
            with(OdometerParameters::RenyiMixture { scale: Some(Amount::ZERO), slack: None }),
            "scale cannot be 0: it must be above 0",
        ),
        (with(OdometerParameters::Basic { slack: Some(Amount::ONE) }), "set something aside"),
        (refused(all_set_aside), "set less aside"),
    ] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn an_error_about_a_parameter_holds_its_name_its_value_and_what_would_do() {
    let read = |name: &str, text: &str| {
        OdometerParameters::read(OdometerRule::Advanced, [(name, text)].into_iter().collect()).unwrap_err()
    };
    let made = |granularity| {
        let parameters = OdometerParameters::Advanced { granularity: Some(granularity) };
        Odometer::new(OdometerSpec { parameters, ..OdometerSpec::new(OdometerRule::Advanced, amount("1e-6")) })
            .unwrap_err()
    };
    for (error, expected) in [
        (made(Granularity::Records(1)), ("n", "1", "it must be at least 2")),
        (made(Granularity::Gamma(amount("0.3"))), ("granularity", "0.3", "it must be above 0 and at most 0.25")),
        (read("n", "many"), ("n", "\"many\"", "write a whole number")),
    ] {
        let ErrorKind::Parameter { name, value, needs } = error.kind() else { panic!("{error:?}") };
        assert_eq!((*name, value.as_str(), needs.as_str()), expected);
    }
    let foreign = read("order", "2");
    let ErrorKind::ForeignParameter { rule, name, known } = foreign.kind() else { panic!("{foreign:?}") };
    assert_eq!((*rule, name.as_str(), known.as_slice()), ("advanced", "order", &["n", "granularity"][..]));
}

/// The number itself is above Σε, and so is what people and programs see of it.
#[test]
fn a_printed_reading_is_not_below_the_sum() {
    for text in ["0.1000000000000000051", "0.3", "0.7000000000000000000000000001", "123456.7890000000001", "0.1"] {
        let mut basic = odometer(OdometerRule::Basic, "0");
        basic.charge(&pure(text)).unwrap();
        let printed = serde_json::to_string(&basic.reading().value).unwrap();
        let read = Amount::parse(&printed, taximeter_accounting::Rounding::Down).unwrap().amount;
        assert!(read >= amount(text), "{printed} is printed for {text}");
    }
}

#[test]
fn the_advanced_reading_jumps_at_one_as_printed() {
    let parameters = OdometerParameters::Advanced { granularity: Some(Granularity::Records(1000)) };
    let spec = || OdometerSpec { parameters, ..OdometerSpec::new(OdometerRule::Advanced, amount("1e-6")) };
    let read = |times: u64| {
        let mut odometer = Odometer::new(spec()).unwrap();
        odometer.charge_times(&pure("0.01"), times).unwrap();
        odometer.reading().value
    };
    // S is exactly 1 after ten thousand rounds, and just above it after one more.
    assert!((read(10_000) - 9.1).abs() < 0.05 && (read(10_001) - 17.14).abs() < 0.05);
}

#[test]
fn a_mechanism_with_a_delta_reads_as_infinite_until_something_is_set_aside_for_it() {
    let cost = Cost::approximate(amount("0.1"), amount("1e-12")).unwrap();
    for rule in OdometerRule::ALL {
        let mut without = odometer(rule, "1e-6");
        without.charge(&cost).unwrap();
        let reading = without.reading();
        assert!(
            reading.value.is_infinite() && reading.unbounded.unwrap().contains("set a part of delta aside"),
            "{rule:?}"
        );

        let spec = OdometerSpec { mechanism_delta: amount("1e-7"), ..OdometerSpec::new(rule, amount("1e-6")) };
        let mut with = Odometer::new(spec).unwrap();
        with.charge_times(&cost, 100).unwrap();
        assert!(with.reading().value.is_finite(), "{rule:?}");
        with.charge_times(&cost, 1_000_000).unwrap();
        assert!(with.reading().unbounded.unwrap().contains("used up"), "{rule:?}");
    }
}

/// One thousand rounds of (0.1, 10⁻¹²) at 10⁻⁶: the slack lemma reads less than half of what the corrected 2ε lemma does.
#[test]
fn the_slack_lemma_reads_far_less_than_the_doubling_lemma() {
    let cost = Cost::approximate(amount("0.1"), amount("1e-12")).unwrap();
    let read = |rule, mechanism_delta: &str, expected: &str| {
        let spec = OdometerSpec {
            mechanism_delta: amount(mechanism_delta),
            expected: amount(expected),
            ..OdometerSpec::new(rule, amount("1e-6"))
        };
        let mut odometer = Odometer::new(spec).unwrap();
        odometer.charge_times(&cost, 1000).unwrap();
        odometer.reading().value
    };
    let slack = read(OdometerRule::RenyiMixture, "1e-9", "24");
    let doubling = read(OdometerRule::FreeX, "1e-7", "24");
    assert!(slack < 25.0 && doubling > 50.0, "{slack} against {doubling}");
}

#[test]
fn the_default_odometer_reads_at_most_1_24_times_the_exact_tail() {
    let (mut smallest, mut largest) = (f64::INFINITY, 0.0f64);
    for step in 0..=30 {
        let epsilon = 10f64.powf(-3.0 + 0.1 * f64::from(step));
        for rounds in [100, 123, 150, 200, 300, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000] {
            let cost = Cost::Pure { epsilon: Amount::at_most(epsilon) };
            let tail = FixedRounds::new(&cost, rounds).unwrap().loss_quantile(amount("1e-6")).value();
            let ratio = reading(OdometerRule::RenyiMixture, "1e-6", &cost, rounds) / tail;
            (smallest, largest) = (smallest.min(ratio), largest.max(ratio));
        }
    }
    assert!(smallest >= 1.0 && largest <= 1.24, "between {smallest} and {largest}");
}

#[test]
fn an_odometer_beside_a_filter_takes_what_the_budget_says() {
    let budget = Budget::parse("1,1e-6").unwrap();
    for rule in OdometerRule::ALL {
        let spec = OdometerSpec::beside(rule, &budget);
        assert_eq!((spec.rule(), spec.at_delta, spec.expected), (rule, budget.delta(), budget.epsilon()));
        assert_eq!(scale_of(&spec).as_deref(), (rule == OdometerRule::RenyiMixture).then_some("20.0816"));
    }
    // A scale that was given stays, and an odometer by itself has none.
    let given = with_scale("7").unwrap().spec().clone().with_scale_of(&budget);
    assert_eq!(scale_of(&given).as_deref(), Some("7"));
    assert_eq!(scale_of(odometer(OdometerRule::RenyiMixture, "1e-6").spec()), None);
    // A budget without a δ has no such odometer, and it is not made here that this is told.
    let without = OdometerSpec::beside(OdometerRule::RenyiMixture, &Budget::parse("1").unwrap());
    assert!(Odometer::new(without).unwrap_err().to_string().contains("above 0"));
}

/// Where something is set aside the odometer itself has a smaller δ, and so a larger z.
#[test]
fn the_scale_is_that_of_the_level_which_is_left_for_the_odometer() {
    let budget = Budget::parse("1,1e-6").unwrap().with_mechanism_delta(amount("1e-7")).unwrap();
    let spec = OdometerSpec::beside(OdometerRule::RenyiMixture, &budget);
    assert_eq!(spec.mechanism_delta, budget.mechanism_delta());
    assert_eq!(scale_of(&spec).as_deref(), Some("22.9741"));
    assert_eq!(scale_of(Odometer::new(spec).unwrap().spec()).as_deref(), Some("22.9741"));
}

/// Against the exact tail of rounds that use up a share of what the budget buys.
fn beside_ratios(budget: &str, shares: impl Iterator<Item = f64>) -> (f64, f64) {
    let budget_parsed = Budget::parse(budget).unwrap();
    let bought = residue_of(&budget_parsed).unwrap().approximate();
    let (mut smallest, mut largest) = (f64::INFINITY, 0.0f64);
    for share in shares {
        for rounds in [300, 3000, 30_000] {
            let cost = Cost::Pure { epsilon: Amount::at_most((share * bought / rounds as f64).sqrt()) };
            let tail = FixedRounds::new(&cost, rounds).unwrap().loss_quantile(budget_parsed.delta()).value();
            let mut odometer = beside(budget);
            odometer.charge_times(&cost, rounds).unwrap();
            let ratio = odometer.reading().value / tail;
            (smallest, largest) = (smallest.min(ratio), largest.max(ratio));
        }
    }
    (smallest, largest)
}

#[test]
fn beside_a_filter_the_odometer_reads_at_most_1_19_times_the_exact_tail_where_the_budget_is_used() {
    for budget in ["1,1e-6", "0.3,1e-9", "4,1e-6", "8,1e-6"] {
        // From a sixteenth of V on, which is a quarter of ε.
        let (smallest, largest) = beside_ratios(budget, (0..=20).map(|step| 16f64.powf(f64::from(step) / 20.0 - 1.0)));
        assert!(smallest >= 1.0 && largest <= 1.19, "{budget}: between {smallest} and {largest}");
        // Elsewhere the wide prior has a fifth of its weight.
        let (smallest, largest) = beside_ratios(budget, [0.003, 0.01, 0.03, 3.0, 10.0, 30.0].into_iter());
        assert!(smallest >= 1.0 && largest <= 1.29, "{budget}: between {smallest} and {largest}");
    }
}

/// With which probability the loss of a number of rounds of ε is ever above the readings, exactly but for rounding.
fn ever_above(epsilon: f64, readings: &[f64]) -> f64 {
    let up = epsilon.exp() / (1.0 + epsilon.exp());
    // The probability of each number of upward steps, as long as no reading was exceeded.
    let mut within = vec![1.0];
    let mut exceeded = 0.0;
    for (at, reading) in readings.iter().enumerate() {
        within.push(0.0);
        for upwards in (0..within.len()).rev() {
            let from_below = if upwards > 0 { within[upwards - 1] * up } else { 0.0 };
            within[upwards] = within[upwards] * (1.0 - up) + from_below;
        }
        // The loss is (2j − k)ε after j upward steps of k.
        let rounds = (at + 1) as f64;
        let above = ((reading / epsilon + rounds) / 2.0).floor() as usize + 1;
        exceeded += within.drain(above.min(within.len())..).sum::<f64>();
    }
    exceeded
}

/// The orders must be fixed before the ride. An odometer that takes the scale from what was charged so far reads less, and is
/// exceeded too often.
#[test]
fn a_scale_that_is_not_fixed_when_the_odometer_is_made_is_caught() {
    let (epsilon, rounds, delta) = (0.05, 20_000u32, 1e-6);
    let cost = pure("0.05");
    let spec = |budget: &Budget| OdometerSpec::beside(OdometerRule::RenyiMixture, budget);
    let mut fixed = Odometer::new(spec(&Budget::parse("8,1e-6").unwrap())).unwrap();
    let fixed: Vec<f64> = (0..rounds)
        .map(|_| {
            fixed.charge(&cost).unwrap();
            fixed.reading().value
        })
        .collect();
    let following = (1..=rounds).map(|charged| {
        // The budget that buys just what was spent: it reads about z√V.
        let spent = Amount::at_most(4.75 * epsilon * f64::from(charged).sqrt());
        let mut odometer = Odometer::new(spec(&Budget::new(spent, amount("1e-6")).unwrap())).unwrap();
        odometer.charge_times(&cost, charged.into()).unwrap();
        odometer.reading().value
    });
    let (valid, broken) = (ever_above(epsilon, &fixed), ever_above(epsilon, &following.collect::<Vec<_>>()));
    assert!(valid <= delta && broken > delta, "{valid} and {broken} at {delta}");
}

fn costs() -> impl Strategy<Value = Cost> {
    (0usize..CostKind::ALL.len(), -9.0f64..0.5)
        .prop_map(|(kind, exponent)| CostKind::ALL[kind].example().with_size(Amount::at_most(10f64.powf(exponent))))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::inputs::random_inputs(200)))]

    /// Readings only grow, do not depend on the order, and do not depend on whether equal charges come at once.
    #[test]
    fn readings_grow_and_do_not_depend_on_the_order(charged in prop::collection::vec((costs(), 1u64..5), 1..15)) {
        for fresh in OdometerRule::ALL.map(|rule| odometer(rule, "1e-6")).into_iter().chain([beside("1,1e-6")]) {
            let rule = fresh.spec().rule();
            let taken: Vec<_> = charged.iter().filter(|(cost, _)| rule.takes(cost.kind())).collect();
            let (mut forwards, mut backwards) = (fresh.clone(), fresh);
            let mut last = 0.0;
            for (cost, times) in &taken {
                for _ in 0..*times {
                    forwards.charge(cost).unwrap();
                }
                let value = forwards.reading().value;
                // The printed theorem 6.5 jumps down when its second form gives way to its first.
                prop_assert!(rule == OdometerRule::Advanced || value >= last * (1.0 - 1e-12), "{:?}: {} after {}", rule, value, last);
                last = value;
            }
            for (cost, times) in taken.iter().rev() {
                backwards.charge_times(cost, *times).unwrap();
            }
            prop_assert_eq!(&forwards, &backwards);
            #[cfg(feature = "serde")]
            {
                let stored = serde_json::to_string(&forwards).unwrap();
                prop_assert_eq!(serde_json::from_str::<Odometer>(&stored).unwrap(), forwards);
            }
        }
    }

    /// A cost with its prices gives the very state that the cost alone gives, whichever odometer made it work them out.
    #[test]
    fn priced_costs_charge_what_costs_charge(charged in prop::collection::vec((costs(), any::<bool>(), any::<bool>()), 1..10)) {
        let scale = OdometerParameters::RenyiMixture { scale: Some(amount("20.0816")), slack: None };
        for parameters in OdometerRule::ALL.map(OdometerParameters::from).into_iter().chain([scale]) {
            for set_aside in ["0", "1e-7"] {
                let spec = OdometerSpec {
                    parameters,
                    mechanism_delta: amount(set_aside),
                    ..OdometerSpec::new(parameters.rule(), amount("1e-6"))
                };
                let fresh = Odometer::new(spec).unwrap();
                let (mut plain, mut first, mut second) = (fresh.clone(), fresh.clone(), fresh);
                for (cost, with_delta, prepared) in &charged {
                    let cost = match cost {
                        Cost::Pure { epsilon } if *with_delta => Cost::approximate(*epsilon, amount("1e-9")).unwrap(),
                        cost => *cost,
                    };
                    let priced = PricedCost::new(cost);
                    prop_assert_eq!(priced.cost(), &cost);
                    if *prepared {
                        priced.prepare(parameters.rule());
                    }
                    let expected = plain.charge(&cost);
                    prop_assert_eq!(&first.charge_priced(&priced), &expected);
                    prop_assert_eq!(&second.charge_priced(&priced), &expected);
                }
                prop_assert_eq!(&first, &plain);
                prop_assert_eq!(&second, &plain);
            }
        }
    }
}

/// Those who pay for one charge may have different budgets, and more of them than a cost keeps prices for.
#[test]
fn one_priced_cost_serves_odometers_of_many_scales() {
    let fresh: Vec<Odometer> = (1..=12).map(|scale| with_scale(&scale.to_string()).unwrap()).collect();
    let priced = PricedCost::new(pure("0.1"));
    for _ in 0..2 {
        for odometer in fresh.iter().chain(fresh.iter().rev()) {
            let (mut plain, mut charged) = (odometer.clone(), odometer.clone());
            plain.charge(priced.cost()).unwrap();
            charged.charge_priced(&priced).unwrap();
            assert_eq!(charged, plain);
        }
    }
    let charge = |odometer: &Odometer| {
        let mut odometer = odometer.clone();
        odometer.charge_priced(&priced).unwrap();
        odometer
    };
    let together = std::thread::scope(|scope| {
        let threads: Vec<_> = fresh.iter().map(|odometer| scope.spawn(|| charge(odometer))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(together, fresh.iter().map(charge).collect::<Vec<_>>());
}

/// One thread works out prices that another charges.
#[test]
fn a_priced_cost_can_go_from_one_thread_to_another() {
    let priced = std::thread::spawn(|| {
        let priced = PricedCost::new(pure("0.1"));
        priced.prepare(OdometerRule::RenyiMixture);
        priced
    });
    let priced = priced.join().unwrap();
    let mut odometer = odometer(OdometerRule::RenyiMixture, "1e-6");
    std::thread::scope(|scope| scope.spawn(|| odometer.charge_priced(&priced)).join()).unwrap().unwrap();
    assert_eq!(odometer.reading().value, 0.1);
}

#[cfg(feature = "serde")]
#[test]
fn a_stored_odometer_of_another_kind_is_not_read() {
    let check = |stored: &Odometer, from: &str, to: &str, part: &str| {
        let stored = serde_json::to_string(stored).unwrap();
        assert!(stored.contains(from), "{from} is not in {stored}");
        let error = serde_json::from_str::<Odometer>(&stored.replacen(from, to, 1)).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    };
    let (alone, beside) = (odometer(OdometerRule::RenyiMixture, "1e-6"), beside("1,1e-6"));
    check(&alone, "\"version\":2", "\"version\":9", "version 9");
    check(&alone, "{\"renyi-mixture\":{\"scale\":null,", "{\"basic\":{", "does not belong");
    check(&alone, "\"slack\":null", "\"slack\":null,\"x\":\"1\"", "unknown field `x`");
    check(&alone, "[\"0\",", "[", "without a scale has 25 sums; the stored state has 24");
    check(&alone, "\"scale\":null", "\"scale\":\"20\"", "with a scale has 29 sums; the stored state has 25");
    check(&beside, "\"scale\":\"20.0816\"", "\"scale\":null", "without a scale has 25 sums; the stored state has 29");
    check(&beside, "\"scale\":\"20.0816\"", "\"scale\":\"0\"", "scale cannot be 0: it must be above 0");
}
