//! The exact engine against values computed elsewhere (`exact_dp` of the reference values), against the optimal composition
//! theorem, and against brute force.

use serde_json::Value;
use taximeter_accounting::reference::FixedRounds;
use taximeter_accounting::{
    Amount, Budget, Cost, Filter, FilterRule, FilterSpec, Granularity, Odometer, OdometerParameters, OdometerRule,
    OdometerSpec, Rounding,
};
use taximeter_lab::engine::filters::{Grid, Objective, Rule, worst, worst_of};
use taximeter_lab::engine::graph::StateGraph;
use taximeter_lab::engine::odometers;
use taximeter_lab::engine::solver::Steps;
use taximeter_lab::engine::stopping::stopping_time;
use taximeter_lab::engine::tree::follow;
use taximeter_lab::{Boundary, Sides};

fn vectors(part: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("../../../accounting/tests/data/vectors.json")).unwrap();
    all["exact_dp"][part].as_array().unwrap().clone()
}

fn amount(text: &str) -> Amount {
    Amount::parse(text, Rounding::Down).unwrap().amount
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| value.as_str().unwrap().split(' ').next().unwrap().parse().unwrap())
}

/// A JSON number as an amount: 0.30000000000000004 stands for 0.3.
fn near_amount(value: &Value) -> Amount {
    amount(&format!("{:.12}", number(value)))
}

fn close(id: &str, ours: f64, theirs: f64, tolerance: f64) {
    assert!((ours - theirs).abs() <= tolerance * theirs.abs() + 1e-50, "{id}: {ours:e} against {theirs:e}");
}

#[test]
fn stopping_time_probabilities_agree_with_the_reference_values() {
    let mut checked = 0;
    for vector in vectors("stopping_time") {
        let id = vector["id"].as_str().unwrap();
        let (n, delta) = (vector["n"].as_u64().unwrap(), number(&vector["delta"]));
        let epsilon = near_amount(&vector["eps"]);
        let e = epsilon.approximate();
        let log = (1.0 / delta).ln();
        let v = |t: f64| t * e * e;
        let formula = |reading: &dyn Fn(f64) -> f64| Boundary::from_formula(n as usize, |t| reading(t as f64));
        let readings = match vector["odometer"].as_str().unwrap() {
            "drv_printed" => formula(&|t| t * e * e.exp_m1() + (2.0 * v(t) * log).sqrt()),
            "drv_tanh" => formula(&|t| t * e * (e / 2.0).tanh() + (2.0 * v(t) * log).sqrt()),
            "seed_thm6.5" => {
                let spec = OdometerSpec {
                    parameters: OdometerParameters::Advanced { granularity: Some(Granularity::Records(n)) },
                    ..OdometerSpec::new(OdometerRule::Advanced, amount(&format!("{delta}")))
                };
                Boundary::of_odometer(Odometer::new(spec).unwrap(), &Cost::Pure { epsilon }, n as usize).unwrap()
            }
            "wh_stitched_v0=eps^2" => {
                formula(&|t| v(t) / 2.0 + 1.7 * (v(t) * ((2.0 * t).ln().ln() + 0.72 * (5.2 / delta).ln())).sqrt())
            }
            "wh_mixture_tunedV=.01" => {
                let gamma = 0.01 / (2.0 * log + (1.0 + 2.0 * log).ln());
                formula(&|t| v(t) / 2.0 + ((v(t) + gamma) * (2.0 * log + (1.0 + v(t) / gamma).ln())).sqrt())
            }
            "wh_filterodo_v0=.01" => formula(&|t| v(t) / 2.0 + (log / 2.0).sqrt() * (0.1 + v(t) / 0.1)),
            other => panic!("{id}: an odometer {other} that is not known"),
        };
        let violation = stopping_time(epsilon, &readings, |_, _| {});
        checked += 1;
        // This entry cuts off probabilities below about 10⁻²⁰; forty-digit arithmetic gives 3.31128564126411e-20, as we do.
        if id == "stop_wh_filterodo_v0=.01_n1000_e0.001_d1e-06" {
            close(id, violation.above.middle(), 3.311_285_641_264_11e-20, 1e-9);
            continue;
        }
        close(id, violation.above.middle(), number(&vector["upper"]), 1e-8);
        close(id, violation.below.middle(), number(&vector["lower"]), 1e-8);
    }
    assert_eq!(checked, 86);
}

#[test]
fn adaptive_odometer_probabilities_agree_with_the_reference_values() {
    let grid = Grid::new(&["0.02", "0.04", "0.08", "0.16"].map(amount)).unwrap();
    for vector in vectors("adaptive_odometer") {
        let id = vector["id"].as_str().unwrap();
        let delta = number(&vector["delta"]);
        let log = (1.0 / delta).ln();
        let reading: Box<dyn Fn(f64) -> f64 + Sync> = match vector["odometer"].as_str().unwrap() {
            "drv V/2+sqrt(2VL)" => Box::new(move |v| v / 2.0 + (2.0 * v * log).sqrt()),
            "mixture gamma=0.04" => {
                Box::new(move |v| v / 2.0 + ((v + 0.04) * (2.0 * log + (1.0 + v / 0.04).ln())).sqrt())
            }
            "line v0=1" => Box::new(move |v| v / 2.0 + (log / 2.0).sqrt() * (1.0 + v)),
            other => panic!("{id}: an odometer {other} that is not known"),
        };
        let sides = if vector["two_sided"].as_bool().unwrap() { Sides::Both } else { Sides::Above };
        let worst = odometers::worst(&grid, amount("4"), sides, Steps::RandomizedResponse, &*reading);
        close(id, worst.lower, number(&vector["prob"]), 1e-8);
        close(id, worst.upper, number(&vector["prob"]), 1e-8);
    }
}

#[test]
fn filters_agree_with_the_reference_values() {
    for vector in vectors("filter") {
        let id = vector["id"].as_str().unwrap();
        if id.starts_with("filter_selfcheck") {
            let k = vector["k"].as_u64().unwrap() as usize;
            let budget = Budget::new(near_amount(&vector["eps_g"]), amount("0.5")).unwrap();
            let grid = Grid::new(&[amount("0.1")]).unwrap();
            let graph = || StateGraph::new(&grid.moves, k + 1, |left, _| left.checked_sub(1));
            let worst = worst_of(&[graph(), graph()], &budget, &grid, Objective::Dp, &|_| {});
            close(id, worst.delta.lower, number(&vector["kov"]), 1e-11);
            close(id, worst.delta.upper, number(&vector["kov"]), 1e-11);
            continue;
        }
        // A sum of squares of at most C steps, with costs of 1, 2, 4 and 8 steps of h.
        let (h, capacity) = (number(&vector["h"]), vector["C"].as_u64().unwrap() as usize);
        let step = Amount::at_most(h);
        let grid = Grid { step, moves: vec![1, 2, 4, 8] };
        let budget = Budget::new(near_amount(&vector["eps_g"]), near_amount(&vector["delta_g"])).unwrap();
        let graph = || {
            StateGraph::new(&grid.moves, capacity + 1, |left, at| {
                left.checked_sub((grid.moves[at] * grid.moves[at]) as usize)
            })
        };
        let worst = worst_of(&[graph(), graph()], &budget, &grid, Objective::Dp, &|_| {});
        close(id, worst.delta.lower, number(&vector["worst_delta"]), 1e-7);
        close(id, worst.delta.upper, number(&vector["worst_delta"]), 1e-7);
    }
}

/// One type of cost: the best adversary can only go on, and the engine must give the optimal composition theorem.
#[test]
fn one_type_of_cost_reproduces_the_optimal_composition_theorem() {
    let budget = Budget::parse("1,1e-6").unwrap();
    let grid = Grid::new(&[amount("0.01")]).unwrap();
    for rounds in [150u64, 349, 562] {
        let graph = || StateGraph::new(&grid.moves, rounds as usize + 1, |left, _| left.checked_sub(1));
        let worst = worst_of(&[graph(), graph()], &budget, &grid, Objective::Dp, &|_| {});
        let optimal = FixedRounds::new(&grid.cost(1), rounds).unwrap().optimal_delta(budget.epsilon()).value();
        assert!(worst.delta.lower <= optimal, "{rounds}");
        close("kov", worst.delta.lower, optimal, 1e-9);
        close("kov", worst.delta.upper, optimal, 1e-6);
    }
}

#[test]
fn the_optimal_composition_of_realised_costs_is_caught() {
    let tiny = &vectors("natural_filter")[0];
    let budget = Budget::parse("0.1,0.10425709561931122589").unwrap();
    let grid = Grid::new(&["0.2", "0.3"].map(amount)).unwrap();
    let case = worst(Rule::Optimal, &budget, &grid, Objective::Dp, &|_| {}).unwrap();
    close("tiny", case.delta.lower, number(&tiny["adaptive_delta"]), 1e-12);
    assert!(case.delta.lower > 1.12 * 0.104_257);
    // Play 0.2; on ⊤ play 0.3, on ⊥ play 0.2 again.
    assert_eq!((case.strategy.first_move, case.strategy.replies), (Some(2), [Some(3), Some(2)]));
    for vector in &vectors("natural_filter")[1..] {
        let budget = Budget::new(near_amount(&vector["eps_g"]), near_amount(&vector["delta_g"])).unwrap();
        let grid = Grid::new(&[near_amount(&vector["eps1"]), near_amount(&vector["eps2"])]).unwrap();
        let case = worst(Rule::Optimal, &budget, &grid, Objective::Dp, &|_| {}).unwrap();
        // Their counts are capped; ours are not.
        assert!(case.delta.lower >= number(&vector["adaptive_delta"]) * (1.0 - 1e-9), "{}: {case:?}", vector["id"]);
    }
}

#[test]
fn the_best_renyi_order_of_realised_costs_is_caught() {
    for vector in vectors("multi_order_rdp_filter_cex").iter().filter(|vector| vector["orders"] == "fine") {
        let budget = Budget::new(near_amount(&vector["eps_g"]), near_amount(&vector["delta_g"])).unwrap();
        let grid = Grid::new(&[near_amount(&vector["eps1"]), near_amount(&vector["eps2"])]).unwrap();
        let case = worst(Rule::RenyiMin, &budget, &grid, Objective::Dp, &|_| {}).unwrap();
        close("renyi-min", case.delta.lower, number(&vector["backward"]), 1e-9);
        assert!(case.delta.lower > 1.2 * budget.delta().approximate());
    }
}

#[test]
fn valid_filters_stay_at_or_below_their_delta() {
    for (budget, costs) in [
        ("1,1e-2", vec!["0.02", "0.04", "0.08"]),
        ("0.5,1e-3", vec!["0.05", "0.1", "0.2"]),
        ("2,1e-4", vec!["0.05", "0.25"]),
        ("0.1,0.10425709561931122589", vec!["0.2", "0.3"]),
    ] {
        let budget = Budget::parse(budget).unwrap();
        let grid = Grid::new(&costs.into_iter().map(amount).collect::<Vec<_>>()).unwrap();
        for rule in FilterRule::ALL {
            let case = worst(Rule::Filter(rule), &budget, &grid, Objective::Dp, &|_| {}).unwrap();
            let ratio = case.delta.upper / budget.delta().approximate();
            assert!(ratio <= 1.0, "{rule:?} on {budget}: {ratio}");
            assert!(case.delta.lower <= case.delta.upper);
        }
    }
}

/// Theorem 5.1 promises more than DP: pointwise, against two-point steps too.
#[test]
fn the_advanced_filter_is_pointwise() {
    let budget = Budget::parse("1,1e-2").unwrap();
    let grid = Grid::new(&["0.02", "0.04", "0.08"].map(amount)).unwrap();
    let case = worst(Rule::Filter(FilterRule::Advanced), &budget, &grid, Objective::Pointwise, &|_| {}).unwrap();
    assert!(case.delta.upper <= 1e-2, "{case:?}");
}

/// Randomized response is not the worst mechanism for a pointwise promise: two rounds of ε = 1 against ε_g = 1.2.
#[test]
fn two_point_steps_beat_randomized_response_pointwise() {
    let budget = Budget::parse("1.2,0.5").unwrap();
    let fine = Grid { step: amount("0.01"), moves: vec![100] };
    let graph = || StateGraph::new(&fine.moves, 3, |left, _| left.checked_sub(1));
    let two_point = worst_of(&[graph(), graph()], &budget, &fine, Objective::Pointwise, &|_| {});
    close("two-point", two_point.delta.middle(), 0.860, 2e-2);
    assert!(two_point.delta.lower > 0.607 + 0.2);
}

/// Every strategy of three rounds with two costs, by brute force over all decision trees.
#[test]
fn tiny_games_agree_with_brute_force_over_all_strategies() {
    fn best(left: i64, loss: i64, epsilon_g: f64, h: f64) -> f64 {
        let stop = (1.0 - (epsilon_g - h * loss as f64).exp()).max(0.0);
        [1i64, 2]
            .into_iter()
            .filter(|m| m * m <= left)
            .map(|m| {
                let p = 1.0 / (1.0 + (-h * m as f64).exp());
                p * best(left - m * m, loss + m, epsilon_g, h) + (1.0 - p) * best(left - m * m, loss - m, epsilon_g, h)
            })
            .fold(stop, f64::max)
    }
    for (h, epsilon_g) in [("0.1", "0.2"), ("0.3", "0.5"), ("0.05", "0.3")] {
        let grid = Grid { step: amount(h), moves: vec![1, 2] };
        let budget = Budget::new(amount(epsilon_g), amount("0.1")).unwrap();
        for capacity in [3usize, 9, 12] {
            let graph = || {
                StateGraph::new(&grid.moves, capacity + 1, |left, at| {
                    left.checked_sub((grid.moves[at] * grid.moves[at]) as usize)
                })
            };
            let worst = worst_of(&[graph(), graph()], &budget, &grid, Objective::Dp, &|_| {});
            let brute = best(capacity as i64, 0, epsilon_g.parse().unwrap(), h.parse().unwrap());
            close("brute", worst.delta.lower, brute, 1e-12);
            close("brute", worst.delta.upper, brute, 1e-12);
        }
    }
}

/// The residue filter itself, asked at every node of a small tree, against the engine's cells.
#[test]
fn the_residue_rule_followed_exactly_lies_between_the_ends() {
    for (budget, costs) in [
        ("0.1,0.1", ["0.2", "0.3"]),
        ("0.5,0.05", ["0.15", "0.3"]),
        ("0.2,0.1", ["0.2", "0.4"]),
        ("1,0.02", ["0.25", "0.75"]),
        ("0.6", ["0.1", "0.2"]),
    ] {
        let budget = Budget::parse(budget).unwrap();
        let costs = costs.map(amount);
        let filter = Filter::new(FilterSpec::new(FilterRule::Residue, budget)).unwrap();
        let pure = costs.map(|epsilon| Cost::Pure { epsilon });
        let exact = follow(&filter, &pure, budget.epsilon()).unwrap().middle();
        let case =
            worst(Rule::Filter(FilterRule::Residue), &budget, &Grid::new(&costs).unwrap(), Objective::Dp, &|_| {})
                .unwrap();
        assert!(
            case.delta.lower <= exact * (1.0 + 1e-12) && exact <= case.delta.upper * (1.0 + 1e-12),
            "{budget}: {exact} {case:?}"
        );
        assert!(exact <= budget.delta().approximate(), "{budget}: {exact}");
        assert!(case.delta.upper - case.delta.lower <= 0.02 * exact, "{budget}: {case:?}");
    }
}

/// Without a δ the residue rule is basic composition, and no loss is above ε_g: the δ is 0 to the last digit.
#[test]
fn without_a_delta_nothing_is_lost() {
    let budget = Budget::parse("1").unwrap();
    let grid = Grid::new(&["0.1", "0.3", "0.7"].map(amount)).unwrap();
    let case = worst(Rule::Filter(FilterRule::Residue), &budget, &grid, Objective::Dp, &|_| {}).unwrap();
    assert_eq!((case.delta.lower, case.delta.upper), (0.0, 0.0));
}

#[test]
fn a_grid_that_is_too_fine_for_the_budget_is_refused() {
    let budget = Budget::parse("4,1e-6").unwrap();
    let tiny = Grid::new(&[amount("0.00001")]).unwrap();
    for rule in FilterRule::ALL {
        let error = worst(Rule::Filter(rule), &budget, &tiny, Objective::Dp, &|_| {}).unwrap_err();
        assert!(error.to_string().contains("too small for this budget"), "{rule:?}: {error}");
    }
    let three = Grid::new(&["0.1", "0.2", "0.3"].map(amount)).unwrap();
    assert!(
        worst(Rule::Optimal, &budget, &three, Objective::Dp, &|_| {}).unwrap_err().to_string().contains("give two")
    );
}
