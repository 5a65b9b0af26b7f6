//! The union with basic composition under attack. Each test fails if one of its four rules is forgotten, and says by how much
//! δ would then be exceeded.

use taximeter_accounting::{Amount, Budget, Cost, Filter, FilterRule, FilterSpec, Refusal, Verdict};

const DELTA: f64 = 1e-6;

fn amount(text: &str) -> Amount {
    Amount::parse_exact(text).unwrap()
}

fn pure(text: &str) -> Cost {
    Cost::parse_epsilon(text).unwrap().cost
}

fn filter(rule: FilterRule, mechanism_delta: &str) -> Filter {
    let budget = Budget::parse("1,1e-6").unwrap().with_mechanism_delta(amount(mechanism_delta)).unwrap();
    Filter::new(FilterSpec::new(rule, budget)).unwrap()
}

fn admitted(filter: &mut Filter, cost: &Cost) -> bool {
    matches!(filter.charge(cost).unwrap(), Verdict::Continue(_))
}

/// How often a cost is admitted until it is refused.
fn exhaust(filter: &mut Filter, cost: &Cost) -> u32 {
    (0..10_000).take_while(|_| admitted(filter, cost)).count() as u32
}

/// Rules whose other branch is not one of the paper's own.
const UNITED: [FilterRule; 4] = [FilterRule::Whitehouse, FilterRule::Zcdp, FilterRule::Renyi, FilterRule::Residue];

/// Φ by its series; good enough to show by how much δ is exceeded.
fn normal(x: f64) -> f64 {
    let (mut term, mut sum, mut n) = (x, x, 1.0);
    while term.abs() > 1e-18 * sum.abs() {
        term *= x * x / (2.0 * n + 1.0);
        sum += term;
        n += 1.0;
    }
    0.5 + sum * (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// The profile of μ-GDP.
fn profile(mu: f64, epsilon: f64) -> f64 {
    normal(mu / 2.0 - epsilon / mu) - epsilon.exp() * normal(-mu / 2.0 - epsilon / mu)
}

#[test]
fn a_gaussian_closes_the_basic_branch() {
    // A Gaussian that uses most of the budget, then ε = 1, which basic composition alone would admit.
    let (gaussian, whole) = (Cost::Gaussian { mu: amount("0.2") }, pure("1"));
    for rule in [FilterRule::Zcdp, FilterRule::Renyi, FilterRule::Residue] {
        let mut filter = filter(rule, "0");
        assert!(admitted(&mut filter, &gaussian), "{rule:?}");
        assert!(!filter.is_basic_open() && filter.is_branch_open());
        assert!(!admitted(&mut filter, &whole), "{rule:?} forgot that a Gaussian has no finite ε");
    }
    // Randomized response of ε = 1 beside that Gaussian: the true δ at ε_g = 1.
    let p = 1.0 / (1.0 + (-1.0f64).exp());
    let delta = p * profile(0.2, 0.0) + (1.0 - p) * profile(0.2, 2.0);
    assert!(delta > 50_000.0 * DELTA, "forgetting it would cost {delta}");
}

#[test]
fn a_charge_that_basic_alone_admits_closes_the_other_branch() {
    for rule in UNITED {
        let mut filter = filter(rule, "0");
        let verdict = filter.charge(&pure("0.9")).unwrap();
        assert!(matches!(verdict, Verdict::Continue(admission) if admission.closes_branch), "{rule:?}");
        assert!(!filter.is_branch_open());
        // Basic has room for ten more of 0.01; the closed branch would admit hundreds.
        assert_eq!(exhaust(&mut filter, &pure("0.01")), 10, "{rule:?} went on in a branch that is closed");
        let gaussian = Cost::Gaussian { mu: amount("0.01") };
        if rule.takes(gaussian.kind()) {
            assert!(!admitted(&mut filter, &gaussian), "{rule:?} went on in a branch that is closed");
        }
    }
    // Randomized response of 0.9 beside what the residue branch admits in all, √V-GDP: the true δ at ε_g = 1.
    let p = 1.0 / (1.0 + (-0.9f64).exp());
    let mu = 0.0560f64.sqrt();
    let delta = p * profile(mu, 0.1) + (1.0 - p) * profile(mu, 1.9);
    assert!(delta > 10_000.0 * DELTA, "forgetting it would cost {delta}");
}

#[test]
fn the_basic_sum_counts_what_the_other_branch_admitted() {
    for rule in UNITED {
        let mut filter = filter(rule, "0");
        for _ in 0..100 {
            assert!(admitted(&mut filter, &pure("0.01")), "{rule:?}");
        }
        assert!(filter.is_branch_open(), "the rule's own branch admits the first hundred");
        assert!(!admitted(&mut filter, &pure("0.9")), "{rule:?} forgot what the other branch admitted");
    }
}

#[test]
fn both_branches_share_one_check_of_the_mechanisms_own_delta() {
    let cost = |epsilon: &str, delta: &str| Cost::approximate(amount(epsilon), amount(delta)).unwrap();
    for rule in UNITED {
        // Half of δ_g is set aside; a mechanism that needs more is refused, also where basic could pay its ε.
        let mut filter = filter(rule, "5e-7");
        let verdict = filter.charge(&cost("0.9", "6e-7")).unwrap();
        assert!(
            matches!(verdict, Verdict::Halt(Refusal::MechanismDelta { .. })),
            "{rule:?} gave basic the whole delta"
        );
        assert!(matches!(filter.charge(&cost("0.01", "6e-7")).unwrap(), Verdict::Halt(Refusal::MechanismDelta { .. })));
        // What one branch used is gone for the other.
        assert!(admitted(&mut filter, &cost("0.01", "3e-7")), "{rule:?}");
        assert!(!admitted(&mut filter, &cost("0.9", "3e-7")), "{rule:?} counted delta for each branch alone");
        assert!(admitted(&mut filter, &cost("0.9", "2e-7")), "{rule:?}");
        assert_eq!(filter.spent().delta, amount("5e-7"));
    }
}

#[test]
fn with_nothing_set_aside_a_delta_is_refused_with_advice() {
    for rule in FilterRule::ALL.into_iter().filter(|rule| *rule != FilterRule::Basic) {
        let mut filter = filter(rule, "0");
        match filter.charge(&Cost::approximate(amount("0.01"), amount("1e-9")).unwrap()).unwrap() {
            Verdict::Halt(refusal) => assert!(refusal.reason().contains("--mechanism-delta"), "{rule:?}"),
            verdict => panic!("{rule:?}: {verdict:?}"),
        }
    }
    // Basic alone needs no setting aside.
    let mut basic = filter(FilterRule::Basic, "0");
    assert!(admitted(&mut basic, &Cost::approximate(amount("0.01"), amount("1e-6")).unwrap()));
    assert!(!admitted(&mut basic, &Cost::approximate(amount("0.01"), amount("1e-30")).unwrap()));
}

#[test]
fn the_papers_own_rules_stand_as_printed() {
    // Theorem 5.1 alone refuses a single ε = 0.5 of a budget of 1; with basic beside it, it would not.
    assert!(!admitted(&mut filter(FilterRule::Advanced, "0"), &pure("0.5")));
    for rule in UNITED {
        assert!(admitted(&mut filter(rule, "0"), &pure("0.5")), "{rule:?}");
    }
}

#[test]
fn a_forfeit_is_told_beforehand_in_numbers_of_the_usual_cost() {
    let mut filter = filter(FilterRule::Residue, "0");
    let usual = pure("0.01");
    assert!(admitted(&mut filter, &usual));
    assert_eq!(filter.forfeit(&usual, &usual).unwrap(), None);
    let forfeit = filter.forfeit(&pure("0.9"), &usual).unwrap().unwrap();
    assert_eq!((forfeit.without.count, forfeit.branch.count, forfeit.basic.count), (557, 0, 9));
    let forfeit = filter.forfeit(&Cost::Gaussian { mu: amount("0.1") }, &usual).unwrap().unwrap();
    assert_eq!(forfeit.basic.count, 0);
    assert!(forfeit.branch.count > 400);
}

#[test]
fn a_bound_on_a_single_cost_keeps_a_careless_charge_from_closing_a_branch() {
    let budget = Budget::parse("1,1e-6").unwrap();
    let spec = FilterSpec { max_cost: Some(amount("0.1")), ..FilterSpec::new(FilterRule::Residue, budget) };
    let mut filter = Filter::new(spec).unwrap();
    assert!(matches!(filter.charge(&pure("0.9")).unwrap(), Verdict::Halt(Refusal::MaxCost { .. })));
    assert!(matches!(
        filter.charge(&Cost::Gaussian { mu: amount("0.11") }).unwrap(),
        Verdict::Halt(Refusal::MaxCost { .. })
    ));
    assert_eq!(filter.largest(&pure("0.9"), 1).unwrap(), Some(pure("0.1")));
    assert!(filter.is_branch_open() && admitted(&mut filter, &pure("0.1")));

    let spec = FilterSpec { max_cost: Some(amount("0.1")), ..FilterSpec::new(FilterRule::Zcdp, budget) };
    let mut filter = Filter::new(spec).unwrap();
    assert!(admitted(&mut filter, &Cost::Zcdp { rho: amount("0.005") }));
    assert!(!admitted(&mut filter, &Cost::Zcdp { rho: amount("0.005000000000000000000000000001") }));
}
