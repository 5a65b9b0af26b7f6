//! What every filter must do.

use proptest::prelude::*;
use taximeter_accounting::{
    Amount, Budget, Cost, CostKind, Count, EXACT_COUNTS, ErrorKind, Filter, FilterParameters, FilterRule, FilterSpec,
    OnHalt, Refusal, Verdict,
};

fn amount(text: &str) -> Amount {
    Amount::parse_exact(text).unwrap()
}

fn pure(text: &str) -> Cost {
    Cost::parse_epsilon(text).unwrap().cost
}

fn filter(rule: FilterRule, budget: &str) -> Filter {
    Filter::new(FilterSpec::new(rule, Budget::parse(budget).unwrap())).unwrap()
}

fn admitted(filter: &mut Filter, cost: &Cost) -> bool {
    matches!(filter.charge(cost).unwrap(), Verdict::Continue)
}

#[test]
fn ten_tenths_fit_a_budget_of_one_and_nothing_after_them() {
    let mut basic = filter(FilterRule::Basic, "1");
    for _ in 0..10 {
        assert!(admitted(&mut basic, &pure("0.1")));
    }
    let before = basic.clone();
    for more in ["0.1", "1e-6", "1e-30"] {
        assert!(!admitted(&mut basic, &pure(more)));
    }
    assert_eq!(basic, before, "a refusal changes nothing");
    assert_eq!(basic.left().epsilon, Some(Amount::ZERO));
}

#[test]
fn the_numbers_of_queries_are_as_known() {
    let cost = pure("0.01");
    for (rule, queries) in [
        (FilterRule::Basic, 100),
        (FilterRule::Advanced, 154),
        (FilterRule::Whitehouse, 349),
        (FilterRule::Zcdp, 487),
        (FilterRule::Renyi, 490),
        (FilterRule::Residue, 558),
    ] {
        let mut filter = filter(rule, "1,1e-6");
        assert_eq!(filter.count(&cost).unwrap(), Count { count: queries, at_least: false }, "{rule:?}");
        for query in 0..queries {
            assert!(admitted(&mut filter, &cost), "{rule:?} refused query {query}");
        }
        assert!(!admitted(&mut filter, &cost), "{rule:?} admitted one more");
    }
}

#[test]
fn the_smallest_budget_of_a_list_of_costs_just_suffices() {
    let list = [vec![pure("0.3")], vec![pure("0.05"); 20], vec![pure("0.002"); 300]].concat();
    let reversed: Vec<Cost> = list.iter().rev().copied().collect();
    for rule in FilterRule::ALL {
        let spec = |epsilon: f64| {
            let budget = Budget::new(Amount::at_most(epsilon), amount("1e-6")).unwrap();
            // The order of renyi is fixed for a budget of about this size.
            let parameters = filter(rule, "2,1e-6").spec().parameters;
            FilterSpec { parameters, ..FilterSpec::new(rule, budget) }
        };
        for costs in [&list, &reversed] {
            let needs = Filter::smallest_epsilon_of(&spec(1.0), costs).unwrap().unwrap();
            let admits = |epsilon: f64| Filter::new(spec(epsilon)).unwrap().admits_all(costs);
            assert!(admits(needs) && !admits(needs * 0.999_99), "{rule:?}: {needs}");
        }
        let equal = vec![pure("0.01"); 200];
        let [one, other] = [
            Filter::smallest_epsilon_of(&spec(1.0), &equal).unwrap().unwrap(),
            Filter::smallest_epsilon(&spec(1.0), &equal[0], 200).unwrap().unwrap(),
        ];
        assert!((one / other - 1.0).abs() < 2e-6, "{rule:?}: {one} and {other}");
        // More than one cost may be, or than any budget takes.
        let limited = FilterSpec { max_cost: Some(amount("0.1")), ..spec(1.0) };
        assert_eq!(Filter::smallest_epsilon_of(&limited, &list).unwrap(), None);
    }
    let gaussian = Cost::Gaussian { mu: amount("0.1") };
    let spec = FilterSpec::new(FilterRule::Basic, Budget::parse("1,1e-6").unwrap());
    assert!(Filter::smallest_epsilon_of(&spec, &[pure("0.1"), gaussian]).is_err());
}

#[test]
fn after_a_halt_smaller_costs_pass_or_nothing_does() {
    for rule in FilterRule::ALL {
        let mut refusing = filter(rule, "1,1e-6");
        assert!(!admitted(&mut refusing, &pure("2")));
        assert!(admitted(&mut refusing, &pure("0.01")), "{rule:?}");

        let spec = FilterSpec { on_halt: OnHalt::Stop, ..FilterSpec::new(rule, Budget::parse("1,1e-6").unwrap()) };
        let mut stopping = Filter::new(spec).unwrap();
        assert!(admitted(&mut stopping, &pure("0.01")));
        assert!(!admitted(&mut stopping, &pure("2")));
        assert!(stopping.is_closed());
        assert_eq!(stopping.charge(&pure("0.01")).unwrap(), Verdict::Halt(Refusal::Closed), "{rule:?}");
        assert_eq!(stopping.count(&pure("0.01")).unwrap().count, 0);
        assert_eq!(stopping.largest(&pure("0.01"), 1).unwrap(), None);
    }
}

#[test]
fn what_costs_nothing_is_admitted_and_changes_nothing() {
    for rule in FilterRule::ALL {
        let mut filter = filter(rule, "1,1e-6");
        while admitted(&mut filter, &pure("0.05")) {}
        let before = filter.clone();
        assert!(admitted(&mut filter, &pure("0")), "{rule:?}");
        assert_eq!(filter, before);
    }
}

#[test]
fn a_cost_without_a_theorem_is_an_error_that_names_the_filters_and_odometers_that_have_one() {
    for (rule, kind, named) in [
        (FilterRule::Basic, CostKind::Gaussian, "zcdp, renyi, residue"),
        (FilterRule::Residue, CostKind::SampledGaussian, "filters that have one: renyi; odometers: renyi-mixture"),
        (FilterRule::Zcdp, CostKind::SampledGaussian, "filters that have one: renyi; odometers: renyi-mixture"),
        (FilterRule::Advanced, CostKind::Zcdp, "zcdp, renyi"),
        (FilterRule::Whitehouse, CostKind::Gaussian, "residue"),
        (FilterRule::Residue, CostKind::DiscreteGaussian, "zcdp, renyi"),
        (FilterRule::Residue, CostKind::Zcdp, "zcdp, renyi"),
    ] {
        let mut filter = filter(rule, "1,1e-6");
        let before = filter.clone();
        let error = filter.charge(&kind.example().with_size(amount("0.01"))).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::UnsupportedCost { .. }) && error.to_string().contains(named),
            "{rule:?}: {error}"
        );
        assert_eq!(filter, before);
    }
}

#[test]
fn budgets_outside_a_theorem_are_refused_when_the_filter_is_made() {
    for (rule, budget, part) in [
        (FilterRule::Whitehouse, "1", "delta above 0"),
        (FilterRule::Zcdp, "1,0", "delta above 0"),
        (FilterRule::Advanced, "1,0.4", "below 1/e"),
        (FilterRule::Advanced, "0,1e-6", "epsilon above 0"),
        (FilterRule::Residue, "1001,1e-6", "up to an epsilon of 1000"),
    ] {
        let error = Filter::new(FilterSpec::new(rule, Budget::parse(budget).unwrap())).unwrap_err();
        assert!(error.to_string().contains(part), "{rule:?} {budget}: {error}");
    }
    let parameters = FilterParameters::Renyi { order: Some(Amount::ONE) };
    let spec = FilterSpec { parameters, ..FilterSpec::new(FilterRule::Renyi, Budget::parse("1,1e-6").unwrap()) };
    assert!(Filter::new(spec).unwrap_err().to_string().contains("above 1"));
}

#[test]
fn counts_are_exact_up_to_100_000_and_bounds_beyond() {
    let filter = filter(FilterRule::Residue, "1,1e-6");
    let near = filter.count(&pure("0.00076")).unwrap();
    assert!(!near.at_least && near.count > 90_000 && near.count <= EXACT_COUNTS, "{near:?}");
    let far = filter.count(&pure("1e-6")).unwrap();
    let ideal = 0.056_028_963_825_260_68 / 1e-12;
    assert!(far.at_least && (far.count as f64) < ideal && far.count as f64 > 0.999 * ideal, "{far:?}");
    assert!(filter.count(&pure("1e-30")).unwrap().at_least);
}

#[test]
fn the_largest_cost_that_fits_many_times_fits_and_is_close() {
    let filter = filter(FilterRule::Residue, "1,1e-6");
    for times in [1, 10, 17, 558, 5000, 60_000, 1_000_000] {
        let cost = filter.largest(&pure("1"), times).unwrap().unwrap();
        let count = filter.count(&cost).unwrap();
        assert!(count.count >= times.min(EXACT_COUNTS), "{times}: {cost} fits {count:?}");
        if times <= EXACT_COUNTS {
            let more = cost.with_size(Amount::at_most(cost.size().approximate() * 1.000_001));
            assert!(filter.count(&more).unwrap().count < times, "{times}: {more} fits too");
        } else {
            // No price is below ε² by more than a share of ε²/24, so no larger one can fit.
            let most = (0.056_028_963_825_260_68 / times as f64).sqrt() * (1.0 + 1e-6);
            assert!(cost.size().approximate() * 1.0001 > most, "{times}: {cost} is far below {most}");
        }
    }
}

/// Sizes from far below to far above what a budget of 1 admits.
fn sizes() -> impl Strategy<Value = Amount> {
    (-9.0f64..0.5).prop_map(|exponent| Amount::at_most(10f64.powf(exponent)))
}

fn costs() -> impl Strategy<Value = Cost> {
    (0usize..CostKind::ALL.len(), sizes(), proptest::bool::ANY).prop_map(|(kind, size, delta)| {
        let cost = CostKind::ALL[kind].example().with_size(size);
        if delta && kind == 0 { Cost::approximate(size, Amount::from_units(1_000)).unwrap() } else { cost }
    })
}

fn any_filter() -> impl Strategy<Value = Filter> {
    (0usize..FilterRule::ALL.len(), 0.01f64..4.0, 2.0f64..12.0).prop_map(|(rule, epsilon, exponent)| {
        let delta = Amount::at_most(10f64.powf(-exponent));
        let budget = Budget::new(Amount::at_most(epsilon), delta).unwrap();
        let budget = budget.with_mechanism_delta(Amount::from_units(delta.units() / 3)).unwrap();
        Filter::new(FilterSpec::new(FilterRule::ALL[rule], budget)).unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::inputs::random_inputs(400)))]

    /// The parts of the interface agree with each other, whatever was charged before.
    #[test]
    fn counts_and_largest_costs_agree_with_charging(
        mut filter in any_filter(),
        charged in prop::collection::vec(costs(), 0..12),
        cost in costs(),
    ) {
        for cost in &charged {
            let (before, decided) = (filter.clone(), filter.decide(cost));
            match filter.charge(cost) {
                Ok(verdict) => {
                    prop_assert_eq!(Ok(&verdict), decided.as_ref());
                    if let Verdict::Halt(_) = verdict {
                        prop_assert_eq!(&filter, &before);
                    }
                }
                Err(_) => prop_assert_eq!(&filter, &before),
            }
        }
        prop_assume!(filter.spec().rule().takes(cost.kind()));
        let count = filter.count(&cost).unwrap();
        if count.count <= 300 {
            let mut copy = filter.clone();
            for _ in 0..count.count {
                prop_assert!(matches!(copy.charge(&cost).unwrap(), Verdict::Continue));
            }
            prop_assert!(matches!(copy.charge(&cost).unwrap(), Verdict::Halt(_)));
        }
        for times in [1u64, 3] {
            if let Some(largest) = filter.largest(&cost, times).unwrap() {
                prop_assert!(filter.count(&largest).unwrap().count >= times, "{} does not fit {} times", largest, times);
                // Steps are counted one by one; everything else to a millionth.
                let above = match largest {
                    Cost::SampledGaussian { .. } => largest.size().checked_add(Amount::ONE).unwrap(),
                    _ => Amount::from_units(largest.size().units() / 1_000_000 * 1_000_001 + 1),
                };
                prop_assert!(filter.count(&cost.with_size(above)).unwrap().count < times, "{} is not the largest", largest);
            }
        }
    }

    /// A stored filter goes on as if it had never been stored.
    #[cfg(feature = "serde")]
    #[test]
    fn a_stored_filter_is_read_back_exactly(mut filter in any_filter(), charged in prop::collection::vec(costs(), 0..12)) {
        for cost in &charged {
            let _ = filter.charge(cost);
        }
        let stored = serde_json::to_string(&filter).unwrap();
        let read: Filter = serde_json::from_str(&stored).unwrap();
        prop_assert_eq!(&read, &filter);
        prop_assert_eq!(serde_json::to_string(&read).unwrap(), stored);
    }

    /// The sums do not depend on the order of the charges.
    #[test]
    fn additive_rules_do_not_depend_on_the_order(
        mut charged in prop::collection::vec(sizes().prop_map(|epsilon| Cost::Pure { epsilon }), 1..20),
        seed in any::<u64>(),
    ) {
        for rule in [FilterRule::Basic, FilterRule::Advanced, FilterRule::Whitehouse, FilterRule::Zcdp, FilterRule::Renyi] {
            let run = |costs: &[Cost]| {
                let mut filter = filter(rule, "1000,1e-6");
                costs.iter().all(|cost| matches!(filter.charge(cost).unwrap(), Verdict::Continue)).then_some(filter)
            };
            let first = run(&charged);
            let rotation = seed as usize % charged.len();
            charged.rotate_left(rotation);
            charged.reverse();
            if let (Some(first), Some(second)) = (first, run(&charged)) {
                prop_assert_eq!(first, second);
            }
        }
    }
}

/// The stored form is part of the interface: the same bytes on every machine, for every version 2.
#[cfg(feature = "serde")]
#[test]
fn the_stored_form_is_the_same_on_every_machine() {
    let mut filter = filter(FilterRule::Residue, "1,1e-6");
    for text in ["0.01", "0.1", "0.003", "1e-9"] {
        assert!(admitted(&mut filter, &pure(text)));
    }
    assert!(admitted(&mut filter, &Cost::Gaussian { mu: amount("0.05") }));
    let stored = include_str!("../data/residue-filter.json").trim_end();
    assert_eq!(
        serde_json::to_string(&filter).unwrap(),
        stored,
        "if this is meant, the state version must change with it"
    );
}

#[cfg(feature = "serde")]
#[test]
fn a_state_that_does_not_belong_to_its_rule_is_not_read() {
    let mut filter = filter(FilterRule::Residue, "1,1e-6");
    assert!(admitted(&mut filter, &pure("0.1")));
    let stored = serde_json::to_string(&filter).unwrap();
    for (from, to, part) in [
        ("\"version\":2", "\"version\":1", "version 1"),
        ("\"parameters\":\"residue\"", "\"parameters\":\"zcdp\"", "does not belong"),
        ("\"left\":\"", "\"left\":\"9999", "does not belong"),
        ("\"start\":\"5", "\"start\":\"6", "does not belong"),
        ("\"left\":\"", "\"left\":\"-", "whole number"),
        ("\"epsilon\":\"1\"", "\"epsilon\":\"2\"", "does not belong"),
        ("\"closed\":false", "\"closed\":false,\"more\":1", "unknown field"),
    ] {
        assert!(stored.contains(from), "{from} is not in {stored}");
        let error = serde_json::from_str::<Filter>(&stored.replacen(from, to, 1)).unwrap_err();
        assert!(error.to_string().contains(part), "{to}: {error}");
    }
}
