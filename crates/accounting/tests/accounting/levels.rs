//! At which δ a promise holds, and on which sides: the parts of δ_g that are set aside must be missing elsewhere.

use taximeter_accounting::{
    Amount, Budget, Cost, Filter, FilterRule, FilterSpec, Odometer, OdometerRule, OdometerSpec, Refusal, Verdict,
};

fn amount(text: &str) -> Amount {
    Amount::parse_exact(text).unwrap()
}

fn filter(rule: FilterRule, budget: &str, set_aside: &str) -> Filter {
    let budget = Budget::parse(budget).unwrap().with_mechanism_delta(amount(set_aside)).unwrap();
    Filter::new(FilterSpec::new(rule, budget)).unwrap()
}

fn odometer(rule: OdometerRule, at_delta: &str, set_aside: &str) -> Odometer {
    Odometer::new(OdometerSpec { mechanism_delta: amount(set_aside), ..OdometerSpec::new(rule, amount(at_delta)) })
        .unwrap()
}

fn approximate(epsilon: &str, delta: &str) -> Cost {
    Cost::approximate(amount(epsilon), amount(delta)).unwrap()
}

#[test]
fn what_is_set_aside_is_missing_for_the_theorem() {
    let cost = Cost::parse_epsilon("0.01").unwrap().cost;
    for rule in [FilterRule::Whitehouse, FilterRule::Zcdp, FilterRule::Renyi, FilterRule::Residue] {
        let with = filter(rule, "1,1e-6", "9e-7").count(&cost).unwrap();
        assert_eq!(with, filter(rule, "1,1e-7", "0").count(&cost).unwrap(), "{rule:?}");
        assert!(with.count < filter(rule, "1,1e-6", "0").count(&cost).unwrap().count, "{rule:?}");
    }
    // The corrected lemma counts ε twice.
    let twice = Cost::parse_epsilon("0.02").unwrap().cost;
    let with = filter(FilterRule::Advanced, "1,1e-6", "9e-7").count(&cost).unwrap();
    assert_eq!(with, filter(FilterRule::Advanced, "1,1e-7", "0").count(&twice).unwrap());
}

#[test]
fn readings_claim_the_sides_and_the_level_that_their_theorems_give() {
    for (rule, two_sided, two_sided_with_slack) in [
        (OdometerRule::Basic, true, false),
        (OdometerRule::Advanced, true, true),
        (OdometerRule::FreeX, true, true),
        (OdometerRule::NormalMixture, true, true),
        (OdometerRule::Stitched, false, false),
        (OdometerRule::RenyiMixture, false, false),
    ] {
        let plain = odometer(rule, "1e-6", "0").reading().guarantee;
        assert_eq!(plain.two_sided, two_sided, "{rule:?}");
        let level = if rule == OdometerRule::Basic { Amount::ZERO } else { amount("1e-6") };
        assert_eq!(plain.delta, level, "{rule:?}");
        let with_slack = odometer(rule, "1e-6", "1e-7").reading().guarantee;
        assert_eq!((with_slack.two_sided, with_slack.delta), (two_sided_with_slack, amount("1e-6")), "{rule:?}");
    }
}

/// The advanced filter bounds Σκ_i, which is far more than Σδ_i where ε is small.
#[test]
fn the_advanced_filter_halts_on_kappa_not_on_delta() {
    let mut filter = filter(FilterRule::Advanced, "10,1e-2", "5e-3");
    let cost = approximate("0.1", "4e-4");
    assert!(cost.delta() < amount("5e-3"));
    assert_eq!(filter.charge(&cost).unwrap(), Verdict::Halt(Refusal::Budget));
    assert!(matches!(filter.charge(&approximate("0.1", "2e-4")).unwrap(), Verdict::Continue));
}

/// One round of RR_{2, 0.1}: with probability 0.1 it tells its input outright. The printed Lemma 3.3 would set aside
/// 2·0.1/(2e²) = 0.0136 for it and then read a finite bound; a rule that did so would be exceeded with probability 0.1.
#[test]
fn the_printed_lemma_would_let_a_leak_pass_and_ours_does_not() {
    let leak = approximate("2", "0.1");
    let printed = amount("0.0136");
    for rule in [OdometerRule::Advanced, OdometerRule::FreeX] {
        let read = |at_delta: &str, set_aside: Amount| {
            let spec = OdometerSpec { mechanism_delta: set_aside, ..OdometerSpec::new(rule, amount(at_delta)) };
            let mut odometer = Odometer::new(spec).unwrap();
            odometer.charge(&leak).unwrap();
            odometer.reading().value
        };
        assert!(read("0.0236", printed).is_infinite(), "{rule:?} would promise 0.0236 where the truth is at least 0.1");
        assert!(read("0.2", amount("0.13")).is_finite(), "{rule:?}: κ is 0.118");
    }
    let halts = |budget: &str, set_aside: Amount| {
        let budget = Budget::parse(budget).unwrap().with_mechanism_delta(set_aside).unwrap();
        let mut filter = Filter::new(FilterSpec::new(FilterRule::Advanced, budget)).unwrap();
        matches!(filter.charge(&leak).unwrap(), Verdict::Halt(_))
    };
    assert!(halts("1000,0.0236", printed));
    assert!(!halts("1000,0.2", amount("0.13")));
}

#[test]
fn without_a_delta_so_far_the_slack_is_not_charged() {
    for rule in [OdometerRule::Basic, OdometerRule::NormalMixture, OdometerRule::Stitched, OdometerRule::RenyiMixture] {
        let mut odometer = odometer(rule, "1e-6", "1e-7");
        assert_eq!(odometer.reading().value, 0.0, "{rule:?}");
        odometer.charge(&Cost::parse_epsilon("0.05").unwrap().cost).unwrap();
        assert_eq!(odometer.reading().value, 0.05, "{rule:?}");
        odometer.charge(&approximate("0.05", "1e-9")).unwrap();
        assert!(odometer.reading().value > 0.1, "{rule:?}");
    }
}

#[test]
fn what_costs_nothing_does_not_move_an_odometer() {
    for rule in OdometerRule::ALL {
        let mut odometer = odometer(rule, "1e-6", "0");
        odometer.charge(&Cost::parse_epsilon("0.05").unwrap().cost).unwrap();
        let before = odometer.clone();
        let _ = odometer.charge(&Cost::Gaussian { mu: Amount::ZERO });
        odometer.charge_times(&Cost::parse_epsilon("1").unwrap().cost, 0).unwrap();
        assert_eq!(odometer, before, "{rule:?}");
    }
}

#[test]
fn stopping_for_good_needs_the_rule_to_halt() {
    let budget = Budget::parse("1,1e-6").unwrap();
    let spec = FilterSpec {
        max_cost: Some(amount("0.1")),
        on_halt: taximeter_accounting::OnHalt::Stop,
        ..FilterSpec::new(FilterRule::Residue, budget)
    };
    let mut filter = Filter::new(spec).unwrap();
    assert!(matches!(
        filter.charge(&Cost::parse_epsilon("0.5").unwrap().cost).unwrap(),
        Verdict::Halt(Refusal::MaxCost { .. })
    ));
    assert!(matches!(
        filter.charge(&approximate("0.01", "1e-9")).unwrap(),
        Verdict::Halt(Refusal::MechanismDelta { .. })
    ));
    assert!(!filter.is_closed(), "neither was decided by the rule");
    while let Verdict::Continue = filter.charge(&Cost::parse_epsilon("0.05").unwrap().cost).unwrap() {}
    assert!(filter.is_closed());
}

#[cfg(feature = "serde")]
#[test]
fn a_stored_odometer_with_another_part_set_aside_is_not_read() {
    let stored = serde_json::to_string(&odometer(OdometerRule::Advanced, "1e-6", "1e-7")).unwrap();
    let edited = stored.replacen("\"limit\":\"1e-7\"", "\"limit\":\"1e-6\"", 1);
    assert_ne!(stored, edited);
    assert!(serde_json::from_str::<Odometer>(&stored).is_ok());
    assert!(serde_json::from_str::<Odometer>(&edited).unwrap_err().to_string().contains("does not belong"));
}

#[test]
fn many_different_costs_have_an_upper_bound_too() {
    use taximeter_accounting::reference::{FixedRounds, MixedRounds};
    let costs: Vec<Cost> =
        (1..=16_400u128).map(|at| Cost::Pure { epsilon: Amount::from_units(at * 10u128.pow(22)) }).collect();
    let mixed = MixedRounds::new(&costs).unwrap();
    let sum: f64 = costs.iter().map(|cost| cost.size().approximate()).sum();
    let bound = mixed.optimal_epsilon(amount("1e-6")).unwrap().value();
    assert!(bound < sum && mixed.advanced_epsilon(amount("1e-6")).unwrap().value() > 0.0, "{bound} of {sum}");
    // With large δ the optimum admits more rounds than the sum of their δ would.
    let cost = approximate("0.001", "0.001");
    assert_eq!(FixedRounds::optimal_count(&cost, &Budget::parse("100,0.1").unwrap()).unwrap().count, 105);
}

#[test]
fn the_largest_cost_for_a_trillion_charges_is_found_at_once() {
    let filter = filter(FilterRule::Residue, "1,1e-6", "0");
    let cost = filter.largest(&Cost::parse_epsilon("1").unwrap().cost, 1_000_000_000_000).unwrap().unwrap();
    assert!(filter.count(&cost).unwrap().count >= 1_000_000_000_000, "{cost}");
    let ideal = (0.056_028_963_8f64 / 1e12).sqrt();
    assert!(cost.size().approximate() > 0.99 * ideal);
    // A single cost may be a little above ε_g: δ pays for the rest.
    assert!(filter.largest(&cost, 0).unwrap().is_some_and(|cost| cost.size() < amount("1.01")));
}
