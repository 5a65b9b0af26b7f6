//! What a question is written as is read as the same question.

use proptest::prelude::*;

use super::*;
use crate::question::parse::predicate::{conjunction, disjunction, negation};
use crate::question::{Aggregate, Comparison, Content, OrderKey, Output, Predicate};

fn value(kind: ColumnType) -> BoxedStrategy<Value> {
    match kind {
        ColumnType::Integer => any::<i64>().prop_map(Value::Integer).boxed(),
        ColumnType::Real => {
            let real = proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL | proptest::num::f64::ZERO;
            real.prop_map(|value| Value::Real(value + 0.0)).boxed()
        }
        ColumnType::Text => "[^\0]{0,12}".prop_map(Value::Text).boxed(),
        ColumnType::Boolean => any::<bool>().prop_map(Value::Boolean).boxed(),
        ColumnType::Date | ColumnType::Timestamp | ColumnType::Decimal => unreachable!("the schema has none"),
    }
}

fn condition() -> impl Strategy<Value = Predicate> {
    let columns = columns();
    (0..columns.len(), any::<bool>(), 0..4).prop_flat_map(move |(column, negated, form)| {
        let kind = columns[column].kind;
        let comparisons = match kind {
            ColumnType::Boolean => vec![Comparison::Equal, Comparison::NotEqual],
            _ => Comparison::ALL.to_vec(),
        };
        match form {
            0 => Just(Predicate::IsNull { column, negated }).boxed(),
            1 => proptest::collection::vec(value(kind), 1..5)
                .prop_map(move |values| Predicate::In { column, values, negated })
                .boxed(),
            2 if kind == ColumnType::Text => "[^\0\\\\%]{0,5}%?[^\0\\\\%]{0,5}"
                .prop_map(move |pattern| Predicate::Like { column, pattern, negated })
                .boxed(),
            _ => (proptest::sample::select(comparisons), value(kind))
                .prop_map(move |(comparison, value)| Predicate::Compare { column, comparison, value })
                .boxed(),
        }
    })
}

fn predicate() -> impl Strategy<Value = Predicate> {
    condition().prop_recursive(4, 30, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 2..4).prop_map(conjunction),
            proptest::collection::vec(inner.clone(), 2..4).prop_map(disjunction),
            inner.prop_map(negation),
        ]
    })
}

fn question() -> impl Strategy<Value = Question> {
    let place = |name: &str| columns().iter().position(|column| column.name == name).unwrap();
    let [age, income, name, region, employed, odd] =
        ["age", "income", "name", "region", "employed", "_Odd \"one\""].map(place);
    let aggregate = proptest::sample::select(vec![
        Aggregate::Rows,
        Aggregate::NonNull(name),
        Aggregate::Units,
        Aggregate::Sum(age),
        Aggregate::Sum(odd),
        Aggregate::Average(income),
    ]);
    let groups = proptest::sample::subsequence(vec![region, employed], 0..=2).prop_shuffle();
    let outputs = proptest::collection::vec((aggregate, "[^\\p{Cc}]{0,10}"), 1..6);
    let order = proptest::collection::vec((any::<proptest::sample::Index>(), any::<bool>()), 0..4);
    (outputs, groups, proptest::option::of(predicate()), order, proptest::option::of(1u64..)).prop_map(
        |(aggregates, groups, filter, order, limit)| {
            let shown = (0..groups.len()).map(|at| (Content::Group(at), String::new()));
            let asked = aggregates.into_iter().map(|(aggregate, name)| (Content::Aggregate(aggregate), name));
            // The place keeps names apart.
            let named =
                |(at, (content, name)): (usize, (Content, String))| Output { name: format!("{at}{name}"), content };
            let outputs: Vec<_> = shown.chain(asked).enumerate().map(named).collect();
            let key = |(index, descending): (proptest::sample::Index, bool)| OrderKey {
                output: index.index(outputs.len()),
                descending,
            };
            let order = order.into_iter().map(key).collect();
            Question { outputs, filter, groups, order, limit }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(taximeter_testing::random_inputs(1_000)))]

    #[test]
    fn a_question_is_read_as_it_is_written(question in question()) {
        let text = question.canonical(DATASET, &schema());
        // Random text is sometimes longer than a question may be.
        prop_assume!(text.len() <= crate::question::parse::limits::BYTES);
        prop_assert_eq!(read(&text), Ok(question), "{}", text);
    }
}
