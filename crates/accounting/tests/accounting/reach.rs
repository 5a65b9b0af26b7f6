//! The residue filter by the reach theorem: what it admits, and in which order.

use taximeter_accounting::{Amount, Budget, Cost, Filter, FilterRule, FilterSpec, Refusal, Verdict};

fn amount(text: &str) -> Amount {
    Amount::parse_exact(text).unwrap()
}

fn pure(text: &str) -> Cost {
    Cost::parse_epsilon(text).unwrap().cost
}

fn filter(budget: &str, set_aside: &str) -> Filter {
    let budget = Budget::parse(budget).unwrap().with_mechanism_delta(amount(set_aside)).unwrap();
    Filter::new(FilterSpec::new(FilterRule::Residue, budget)).unwrap()
}

/// The costs are admitted one by one.
fn after(budget: &str, costs: &[(&str, u64)]) -> Filter {
    let mut filter = filter(budget, "0");
    for (epsilon, times) in costs {
        for _ in 0..*times {
            assert_eq!(filter.charge(&pure(epsilon)).unwrap(), Verdict::Continue, "{epsilon} from {budget}");
        }
    }
    filter
}

/// Beside each: how many the optimum with all parameters fixed in advance admits.
#[test]
fn equal_costs_fit_as_often_as_the_table_says() {
    for (budget, epsilon, count) in [
        ("0.3,1e-6", "0.01", 58),
        ("0.3,1e-6", "0.02", 15),
        ("0.3,1e-6", "0.05", 6),
        ("1,1e-6", "0.01", 558),
        ("1,1e-6", "0.02", 139),
        ("1,1e-6", "0.05", 23),
        ("1,1e-6", "0.1", 10),
        ("1,1e-6", "0.25", 4),
        ("1,1e-6", "0.5", 2),
        ("2,1e-6", "0.01", 2008),
        ("2,1e-6", "0.02", 501),
        ("2,1e-6", "0.05", 79),
        ("2,1e-6", "0.1", 21),
        ("4,1e-6", "0.02", 1753),
        ("4,1e-6", "0.1", 70),
        ("8,1e-6", "0.05", 936),
        ("8,1e-6", "0.1", 233),
        ("8,1e-6", "0.25", 38),
        ("1,1e-9", "0.02", 82),
        ("0.3,1e-9", "0.01", 34),
        ("4,1e-9", "0.1", 47),
    ] {
        assert_eq!(filter(budget, "0").count(&pure(epsilon)).unwrap().count, count, "{epsilon} from {budget}");
    }
}

#[test]
fn after_a_large_cost_small_ones_still_fit() {
    for (first, times, count) in [
        ("0.1", 1, 489),
        ("0.2", 1, 392),
        ("0.3", 1, 304),
        ("0.5", 1, 161),
        ("0.9", 1, 10),
        ("0.1", 5, 227),
        ("0.05", 10, 333),
    ] {
        let filter = after("1,1e-6", &[(first, times)]);
        assert_eq!(filter.count(&pure("0.01")).unwrap().count, count, "after {times} of {first}");
    }
}

#[test]
fn whatever_adding_up_admits_is_admitted() {
    for (budget, costs) in [
        ("1,1e-6", vec![("0.7", 1), ("0.3", 1)]),
        ("1,1e-6", vec![("0.1", 10)]),
        ("1,0", vec![("0.1", 9), ("0.05", 2)]),
        ("1,1e-30", vec![("0.999999999999999999999999999999", 1), ("1e-30", 1)]),
        ("1000,0.999", vec![("999", 1), ("1", 1)]),
    ] {
        after(budget, &costs);
    }
}

#[test]
fn a_budget_without_delta_is_basic_composition() {
    let (mut residue, budget) = (filter("1", "0"), Budget::parse("1").unwrap());
    let mut basic = Filter::new(FilterSpec::new(FilterRule::Basic, budget)).unwrap();
    for text in ["0.3", "0.9", "0.6", "0.2", "0.1", "1e-30", "0"] {
        let cost = pure(text);
        assert_eq!(residue.count(&cost).unwrap(), basic.count(&cost).unwrap(), "{text}");
        assert_eq!(residue.largest(&cost, 3).unwrap(), basic.largest(&cost, 3).unwrap(), "{text}");
        assert_eq!(residue.charge(&cost).unwrap(), basic.charge(&cost).unwrap(), "{text}");
        assert_eq!((residue.spent(), residue.left()), (basic.spent(), basic.left()), "{text}");
    }
    assert_eq!(residue.charge(&Cost::Gaussian { mu: amount("1e-9") }).unwrap(), Verdict::Halt(Refusal::Budget));
    // An ε_g for which no normal tail is evaluated.
    assert!(filter("100000", "0").charge(&pure("99999")).unwrap().continues());
}

/// With all of δ set aside nothing is left for the theorem, and costs with a δ of their own are added up.
#[test]
fn a_budget_with_all_delta_set_aside_adds_up_and_counts_delta() {
    let mut filter = filter("1,1e-6", "1e-6");
    let cost = Cost::approximate(amount("0.5"), amount("4e-7")).unwrap();
    assert!(filter.charge(&cost).unwrap().continues() && filter.charge(&cost).unwrap().continues());
    assert_eq!(filter.charge(&pure("0.1")).unwrap(), Verdict::Halt(Refusal::Budget));
}

#[test]
fn after_a_gaussian_no_level_helps() {
    let mut filter = filter("1,1e-6", "0");
    assert!(filter.charge(&Cost::Gaussian { mu: amount("0.1") }).unwrap().continues());
    assert_eq!(filter.left().epsilon, None, "the loss has no bound any more");
    assert_eq!(filter.charge(&pure("0.9")).unwrap(), Verdict::Halt(Refusal::Budget));
    assert!(filter.count(&pure("0.01")).unwrap().count > 400);
    let before = filter.clone();
    assert!(filter.charge(&Cost::Gaussian { mu: Amount::ZERO }).unwrap().continues());
    assert_eq!(filter, before);
}

#[test]
fn costs_with_a_delta_count_in_the_reach_and_in_what_is_set_aside() {
    let cost = |epsilon: &str, delta: &str| Cost::approximate(amount(epsilon), amount(delta)).unwrap();
    let mut filter = filter("1,1e-6", "5e-7");
    for refused in ["0.9", "0.01"] {
        let verdict = filter.charge(&cost(refused, "6e-7")).unwrap();
        assert_eq!(verdict, Verdict::Halt(Refusal::MechanismDelta { set_aside: amount("5e-7") }));
    }
    assert!(filter.charge(&cost("0.01", "3e-7")).unwrap().continues());
    assert!(!filter.charge(&cost("0.9", "3e-7")).unwrap().continues());
    assert!(filter.charge(&cost("0.9", "2e-7")).unwrap().continues());
    assert_eq!((filter.spent().epsilon, filter.spent().delta), (Some(amount("0.91")), amount("5e-7")));
    assert_eq!(filter.count(&pure("0.01")).unwrap().count, 9);
}

#[test]
fn with_nothing_set_aside_a_delta_is_refused_with_the_reason() {
    for rule in FilterRule::ALL.into_iter().filter(|rule| *rule != FilterRule::Basic) {
        let mut filter = Filter::new(FilterSpec::new(rule, Budget::parse("1,1e-6").unwrap())).unwrap();
        match filter.charge(&Cost::approximate(amount("0.01"), amount("1e-9")).unwrap()).unwrap() {
            Verdict::Halt(refusal) => assert!(refusal.reason().contains("set a part aside"), "{rule:?}"),
            verdict => panic!("{rule:?}: {verdict:?}"),
        }
    }
    // Basic alone needs no setting aside.
    let mut basic = Filter::new(FilterSpec::new(FilterRule::Basic, Budget::parse("1,1e-6").unwrap())).unwrap();
    assert!(basic.charge(&Cost::approximate(amount("0.01"), amount("1e-6")).unwrap()).unwrap().continues());
    assert!(!basic.charge(&Cost::approximate(amount("0.01"), amount("1e-30")).unwrap()).unwrap().continues());
}

/// As published, these rules refuse a single cost that adding up would admit.
#[test]
fn the_other_rules_stand_without_basic_composition() {
    for rule in [FilterRule::Advanced, FilterRule::Whitehouse, FilterRule::Zcdp, FilterRule::Renyi] {
        let mut filter = Filter::new(FilterSpec::new(rule, Budget::parse("1,1e-6").unwrap())).unwrap();
        assert_eq!(filter.charge(&pure("0.9")).unwrap(), Verdict::Halt(Refusal::Budget), "{rule:?}");
    }
}

#[test]
fn a_bound_on_a_single_cost_is_kept() {
    let budget = Budget::parse("1,1e-6").unwrap();
    let spec = FilterSpec { max_cost: Some(amount("0.1")), ..FilterSpec::new(FilterRule::Residue, budget) };
    let mut filter = Filter::new(spec).unwrap();
    let halted = Verdict::Halt(Refusal::MaxCost { limit: amount("0.1") });
    assert_eq!(filter.charge(&pure("0.9")).unwrap(), halted);
    assert_eq!(filter.charge(&Cost::Gaussian { mu: amount("0.11") }).unwrap(), halted);
    assert_eq!(filter.largest(&pure("0.9"), 1).unwrap(), Some(pure("0.1")));
    assert!(filter.charge(&pure("0.1")).unwrap().continues());

    let spec = FilterSpec { max_cost: Some(amount("0.1")), ..FilterSpec::new(FilterRule::Zcdp, budget) };
    let mut filter = Filter::new(spec).unwrap();
    assert!(filter.charge(&Cost::Zcdp { rho: amount("0.005") }).unwrap().continues());
    assert!(!filter.charge(&Cost::Zcdp { rho: amount("0.005000000000000000000000000001") }).unwrap().continues());
}

/// κ falls in ε, so a larger cost may fit where a smaller one does not.
#[test]
fn what_fits_under_the_corrected_lemma_is_found() {
    let budget = Budget::parse("16,0.35").unwrap().with_mechanism_delta(amount("0.09")).unwrap();
    let filter = Filter::new(FilterSpec::new(FilterRule::Advanced, budget)).unwrap();
    let cost = Cost::approximate(amount("1"), amount("0.05")).unwrap();
    assert!(filter.decide(&cost).unwrap().continues());
    let largest = filter.largest(&cost, 1).unwrap().expect("what continues fits");
    assert!(largest.size() > cost.size() && filter.decide(&largest).unwrap().continues(), "{largest}");
    let more = largest.with_size(Amount::from_units(largest.size().units() + 1));
    assert!(!filter.decide(&more).unwrap().continues(), "{largest} is not the largest");
}
