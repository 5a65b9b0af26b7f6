//! Costs, in JSON and as text, and what every rule makes of them.

use taximeter_accounting::{Budget, Cost, Filter, FilterRule, FilterSpec, Odometer, OdometerRule, OdometerSpec};

/// What is written reads back as the same. Every rule decides about it, a refused cost is not counted, and no reading falls.
pub fn check(data: &[u8]) {
    let Some(text) = super::text(data) else { return };
    let declared = [Cost::from_json(text), Cost::parse_epsilon(text)];
    for cost in declared.into_iter().flatten().map(|declared| declared.cost) {
        let written = serde_json::to_string(&cost).unwrap();
        assert_eq!(serde_json::from_str::<Cost>(&written).unwrap(), cost, "{written}");
        let budget = Budget::parse("1,1e-6").unwrap();
        for rule in FilterRule::ALL {
            let mut filter = Filter::new(FilterSpec::new(rule, budget)).unwrap();
            let before = filter.state();
            let decided = filter.decide(&cost);
            assert_eq!(filter.charge(&cost), decided, "{written} under {rule:?}");
            if !decided.is_ok_and(|verdict| verdict.continues()) {
                assert_eq!(filter.state(), before, "{written} under {rule:?}");
            }
        }
        for rule in OdometerRule::ALL {
            let mut odometer = Odometer::new(OdometerSpec::beside(rule, &budget)).unwrap();
            let before = odometer.reading().value;
            if odometer.charge(&cost).is_ok() {
                assert!(odometer.reading().value >= before, "{written} under {rule:?}");
            }
        }
    }
}
