//! `tests/data/vectors.json`: values computed elsewhere with fifty digits. Ours must agree to 10⁻¹² and lie on the safe side.

use serde_json::Value;

use crate::amount::{Amount, FineAmount, Rounding};
use crate::filter::residue::reach;
use crate::filter::{self, Filter, FilterRule, FilterSpec};
use crate::numeric::{Interval, normal, smallest_float_where};
use crate::odometer::{Granularity, Odometer, OdometerParameters, OdometerRule, OdometerSpec};
use crate::price::{self, Order};
use crate::reference::{FixedRounds, GaussianRounds, MixedRounds};
use crate::{Budget, Cost, lemma};

fn vectors(part: &str) -> Vec<Value> {
    let text = include_str!("../../tests/data/vectors.json");
    let all: Value = serde_json::from_str(text).expect("the vectors are JSON");
    all[part].as_array().expect("a list").clone()
}

/// One entry: its parameters by name.
struct Entry<'a>(&'a Value);

impl Entry<'_> {
    fn id(&self) -> &str {
        self.0["id"].as_str().unwrap()
    }
    fn text(&self, name: &str) -> String {
        let value = &self.0["params"][name];
        value.as_str().map_or_else(|| value.to_string(), String::from)
    }
    fn amount(&self, name: &str) -> Amount {
        Amount::parse(&self.text(name), Rounding::Up)
            .unwrap_or_else(|error| panic!("{}: {name}: {error}", self.id()))
            .amount
    }
    fn interval(&self, name: &str) -> Interval {
        self.amount(name).interval()
    }
    fn count(&self, name: &str) -> u64 {
        self.text(name).parse().unwrap()
    }
    fn pure(&self) -> Cost {
        Cost::Pure { epsilon: self.amount("eps") }
    }
    fn list(&self, name: &str) -> Vec<Amount> {
        let parse = |value: &Value| Amount::parse(value.as_str().unwrap(), Rounding::Up).unwrap().amount;
        self.0["params"][name].as_array().unwrap().iter().map(parse).collect()
    }
    fn odometer(&self, parameters: OdometerParameters) -> f64 {
        let spec = OdometerSpec { parameters, ..OdometerSpec::new(parameters.rule(), self.amount("delta_g")) };
        let mut odometer = Odometer::new(spec).unwrap();
        odometer.charge_times(&self.pure(), self.count("k")).unwrap();
        odometer.reading().value
    }
    fn theorem_5_1(&self, costs: &[(Cost, u64)]) -> f64 {
        let budget = Budget::new(self.amount("eps_g"), self.amount("delta_g")).unwrap();
        let fresh = filter::advanced::Advanced::new(&budget).unwrap();
        costs.iter().fold(fresh, |advanced, (cost, times)| advanced.counting(cost, *times).unwrap()).loss()
    }
    fn mixed(&self) -> MixedRounds {
        let deltas = self.list("delta_list");
        let costs: Vec<_> =
            self.list("eps_list").into_iter().zip(deltas).map(|(e, d)| Cost::approximate(e, d).unwrap()).collect();
        MixedRounds::new(&costs).unwrap()
    }
    fn fixed(&self) -> FixedRounds {
        let delta = if self.0["params"]["delta"].is_null() { Amount::ZERO } else { self.amount("delta") };
        FixedRounds::new(&Cost::approximate(self.amount("eps"), delta).unwrap(), self.count("k")).unwrap()
    }
}

/// Which way a value may err.
enum Safe {
    /// A bound: not below.
    Above(f64),
    /// A budget: not above.
    Below(f64),
}
use Safe::{Above, Below};

/// What we compute for an entry; nothing for those that no rule here covers.
fn ours(entry: &Entry) -> Option<Safe> {
    let id = entry.id();
    let starts = |prefix: &str| id.starts_with(prefix);
    Some(match id {
        _ if starts("mean_dr16") => Above(price::printed_mean(entry.interval("eps")).hi()),
        _ if starts("mean_tanh") => Above(price::tight_mean(entry.interval("eps")).hi()),
        _ if starts("zcdp_laplace") => {
            Above(price::zcdp(&Cost::Laplace { epsilon: entry.amount("eps") }).unwrap().approximate())
        }
        _ if starts("rdp_rr") => Above(price::renyi_of_pure(&order(entry.amount("alpha")), entry.interval("eps")).hi()),
        _ if starts("rdp_laplace") => {
            Above(price::renyi_of_laplace(&order(entry.amount("alpha")), entry.interval("eps")).hi())
        }
        // The smallest residue that admits it when no level helps.
        _ if starts("gdp_mu_of_pure") => {
            let admits =
                |w: f64| reach::rest(entry.amount("eps"), Amount::ZERO, FineAmount::at_most(w).unwrap()).is_some();
            Above(smallest_float_where(1e4, admits).unwrap().sqrt().next_up())
        }
        "seedfilter_K_het" => {
            let costs: Vec<_> = entry.list("eps_list").into_iter().map(|epsilon| (Cost::Pure { epsilon }, 1)).collect();
            Above(entry.theorem_5_1(&costs))
        }
        _ if starts("seedfilter_K_") => Above(entry.theorem_5_1(&[(entry.pure(), entry.count("k"))])),
        _ if starts("seedodo_gamma") => {
            let granularity = Some(Granularity::Gamma(entry.amount("gamma")));
            Above(entry.odometer(OdometerParameters::Advanced { granularity }))
        }
        _ if starts("seedodo_") => {
            let granularity = Some(Granularity::Records(entry.count("n")));
            Above(entry.odometer(OdometerParameters::Advanced { granularity }))
        }
        "fullx_x0.01_2" => Above(entry.odometer(OdometerParameters::FreeX { x: Some(entry.amount("x")) })),
        _ if starts("ks_tight") => {
            Above(lemma::kappa(entry.amount("eps"), entry.amount("delta")).unwrap().approximate())
        }
        _ if starts("drv_e") => Above(entry.fixed().advanced_epsilon(entry.amount("delta_hat")).unwrap().value()),
        _ if starts("kov_delta") => Above(entry.fixed().optimal_delta(entry.amount("eps_g")).value()),
        _ if starts("kov_eps") => Above(entry.fixed().optimal_epsilon(entry.amount("delta_g")).unwrap().value()),
        _ if starts("mv16_delta") => Above(entry.mixed().optimal_delta(entry.amount("eps_g")).value()),
        _ if starts("mv16_eps") => Above(entry.mixed().optimal_epsilon(entry.amount("delta_g")).unwrap().value()),
        _ if starts("zcdp_budget_cks") => {
            Below(filter::zcdp::limit(entry.interval("eps"), entry.interval("delta")).unwrap().approximate())
        }
        _ if starts("zcdp_cks_delta") => {
            // Turned round: a budget of (ε, that δ) buys ρ.
            let delta = Amount::parse(entry.0["value"].as_str().unwrap(), Rounding::Down).unwrap().amount.interval();
            return Some(same_rho(entry, entry.interval("eps"), delta));
        }
        _ if starts("zcdp_cks_rho") => {
            let epsilon = Amount::parse(entry.0["value"].as_str().unwrap(), Rounding::Down).unwrap().amount.interval();
            return Some(same_rho(entry, epsilon, entry.interval("delta")));
        }
        _ if starts("best_rho_two") => {
            // The default γ of the normal mixture, which keeps six digits, for a reading that buys V₀.
            let delta = entry.amount("alpha");
            let epsilon = normal::smallest_epsilon(entry.interval("V"), delta.interval());
            let spec = OdometerSpec {
                expected: Amount::at_most(epsilon),
                ..OdometerSpec::new(OdometerRule::NormalMixture, delta)
            };
            let odometer = Odometer::new(spec).unwrap();
            let OdometerParameters::NormalMixture { gamma: Some(gamma), .. } = odometer.spec().parameters else {
                panic!("{id}: no default was filled in");
            };
            let gamma = gamma.approximate();
            let value: f64 = entry.0["value"].as_str().unwrap().parse().unwrap();
            assert!((gamma / value - 1.0).abs() < 1e-5, "{id}: {gamma} against {value}");
            return Some(Above(value));
        }
        _ if starts("slack_delta") => {
            // With δ = (δ_0 + δ″)/(1 − e^{−c}) at hand, δ_0 + δ″ comes back.
            let value = Amount::parse(entry.0["value"].as_str().unwrap(), Rounding::Down).unwrap().amount;
            let shift = entry.interval("c");
            let total = (value.interval() * -(-shift).exp_m1()).lo();
            let given = entry.amount("delta_tot").approximate();
            assert!(total <= given && total > given * (1.0 - 1e-12), "{id}");
            return Some(Above(value.interval().hi()));
        }
        _ if starts("rdp_cks") => {
            // The limit of the filter at ε_g is R: turned round, R + ε_g − limit(ε_g).
            let limit = filter::renyi::limit_at(&order(entry.amount("alpha")), Interval::ZERO, entry.interval("delta"));
            Above((entry.interval("rdp") - limit).hi())
        }
        _ if starts("gdp_delta") => {
            Above(normal::gaussian_profile(entry.interval("mu").square(), entry.interval("eps")).hi())
        }
        _ if starts("gdp_eps") => {
            Above(GaussianRounds::new(entry.amount("mu"), 1).optimal_epsilon(entry.amount("delta")).unwrap().value())
        }
        _ if starts("wh_filter_e") => {
            // The filter compares S with the root y; at the reading of the vector, y must be S.
            let value: f64 = entry.0["value"].as_str().unwrap().parse().unwrap();
            let squares = entry.amount("eps").square().checked_times(entry.count("k")).unwrap().approximate();
            let root =
                filter::whitehouse::limit(Interval::around(value, 1), entry.interval("delta_p")).unwrap().approximate();
            assert!(root <= squares && root > squares * (1.0 - 1e-12), "{id}: {root} against {squares}");
            return Some(Above(value));
        }
        _ if starts("wh_ystar") => {
            Below(filter::whitehouse::limit(entry.interval("eps_g"), entry.interval("delta_p")).unwrap().approximate())
        }
        _ if starts("wh_mixture") => {
            // The vector's mean is V/2; ours is the tight one, so the deviation alone is compared.
            let mean = FineAmount::from(entry.amount("V")).half();
            let bound = crate::odometer::normal_mixture::bound(
                entry.amount("gamma"),
                mean,
                entry.amount("V").into(),
                entry.interval("delta_p"),
            );
            Above(bound.hi())
        }
        _ if starts("wh_stitched") => {
            let v0 = entry.amount("v0");
            Above(crate::odometer::stitched::bound(v0, entry.amount("V").into(), entry.interval("delta_p")).hi())
        }
        _ => return None,
    })
}

/// The zCDP filter's ρ_g for a budget whose conversion the entry gives must be the entry's ρ.
fn same_rho(entry: &Entry, epsilon: Interval, delta: Interval) -> Safe {
    let rho = entry.amount("rho").approximate();
    let limit = filter::zcdp::limit(epsilon, delta).unwrap().approximate();
    assert!(limit <= rho && limit > rho * (1.0 - 1e-12), "{}: {limit} against {rho}", entry.id());
    Above(Amount::parse(entry.0["value"].as_str().unwrap(), Rounding::Up).unwrap().amount.interval().hi())
}

fn order(alpha: Amount) -> Order {
    filter::renyi::order(alpha).unwrap()
}

/// Entries about rules, conversions and games that this crate does not have; everything else must be covered.
const ELSEWHERE: [&str; 17] = [
    "kl_br",
    "seedfilter_Kadd",
    "fullx_x0.01_1",
    "s_exact",
    "odometer_safe",
    "ks_safe",
    "ks_seed",
    "kov_closed",
    "drv_tanh",
    "zcdp_bs16",
    "zcdp_budget_bs16",
    "rdp_mironov",
    "wh_filterodo",
    "mix1",
    "stitched_exact",
    "finite_stitch",
    "gt_",
];

#[test]
fn formulas_agree_with_the_reference_values_on_the_safe_side() {
    let mut covered = 0;
    for vector in vectors("formula") {
        let entry = Entry(&vector);
        if entry.id() == "rdp_mixture_odo" || entry.id() == "rdp_union_odo" {
            continue; // Another grid of orders than ours.
        }
        let Some(safe) = ours(&entry) else {
            assert!(ELSEWHERE.iter().any(|prefix| entry.id().starts_with(prefix)), "{} is not covered", entry.id());
            continue;
        };
        covered += 1;
        check(entry.id(), vector["value"].as_str().unwrap(), safe, 1e-12);
    }
    assert!(covered >= 50, "only {covered} entries were covered");
}

/// Compares as decimals: the value has more digits than a floating-point number.
fn check(id: &str, value: &str, safe: Safe, tolerance: f64) {
    let truth_up = Amount::parse(value, Rounding::Up).unwrap().amount;
    let truth_down = Amount::parse(value, Rounding::Down).unwrap().amount;
    let near: f64 = value.parse().unwrap();
    let (safe_side, number) = match safe {
        Above(number) => (FineAmount::at_least(number).unwrap() >= truth_down.into(), number),
        Below(number) => (FineAmount::at_most(number).unwrap() <= truth_up.into(), number),
    };
    assert!(safe_side, "{id}: {number:e} is on the wrong side of {value}");
    assert!((number - near).abs() <= tolerance * near, "{id}: {number:e} is too far from {value}");
}

#[test]
fn residue_entries_agree_with_the_reference_values() {
    for vector in vectors("residue") {
        let entry = Entry(&vector);
        let id = entry.id();
        if id.starts_with("residue_join") {
            let (joined, w) = (vector["value"].as_str().unwrap(), entry.amount("w").approximate());
            let whole = |factor: f64| FineAmount::at_least(joined.parse::<f64>().unwrap() * factor).unwrap();
            let rest = |factor: f64| {
                reach::rest(entry.amount("eps"), Amount::ZERO, whole(factor)).map(FineAmount::approximate)
            };
            assert!(rest(1.0 - 1e-12).is_none_or(|rest| rest < w), "{id}: too much is left");
            assert!(rest(1.0 + 1e-12).is_some_and(|rest| rest >= w * (1.0 - 1e-9)), "{id}: too little is left");
        } else if id.starts_with("gdp_variance") {
            let variance = normal::largest_variance(entry.interval("eps_g"), entry.interval("delta_g"));
            check(id, vector["value"].as_str().unwrap(), Below(variance), 1e-12);
        } else {
            assert!(id.starts_with("residue_capacity"), "{id} is not covered");
            let budget = Budget::new(entry.amount("eps_g"), entry.amount("delta_g")).unwrap();
            let filter = Filter::new(FilterSpec::new(FilterRule::Residue, budget)).unwrap();
            assert!(filter.count(&entry.pure()).unwrap().count >= vector["value"].as_u64().unwrap(), "{id}");
        }
    }
}

#[test]
fn reach_entries_agree_with_the_reference_values() {
    for vector in vectors("reach") {
        let entry = Entry(&vector);
        let residue = entry.amount("w").into();
        let rest = reach::rest(entry.amount("eps"), entry.amount("tau"), residue);
        match (vector["value"].as_str(), rest) {
            (Some(value), Some(rest)) => {
                let truth = Amount::parse(value, Rounding::Up).unwrap().amount;
                assert!(rest <= truth.into(), "{}: {rest} is above {value}", entry.id());
                check(entry.id(), value, Below(rest.approximate().next_down()), 1e-10);
            }
            (value, rest) => assert_eq!((value, rest), (None, None), "{}", entry.id()),
        }
    }
}
