//! What the rules mean, for people who have not read the papers.

use taximeter_accounting::{FilterRule, OdometerRule};
use taximeter_ledger::Neighbours;

/// A rule in words.
pub(super) struct Meaning {
    /// In one line, to choose from a list.
    pub(super) short: &'static str,
    /// In a few sentences.
    pub(super) long: &'static str,
}

/// What a filter rule does. The counts are those of `taximeter plan`, and a test makes them again.
pub(super) fn of_filter(rule: FilterRule) -> Meaning {
    let (short, long) = match rule {
        FilterRule::Basic => (
            "adds up every ε and every δ",
            "It adds up the ε of all charges, and the δ, and goes on while both sums are within the budget. It is the easiest to \
             explain, and stops earliest when charges are many and small: a budget of (1, 10⁻⁶) admits 100 of ε = 0.01.",
        ),
        FilterRule::Advanced => (
            "the first paper's filter, as it was printed",
            "Losses of many small charges partly cancel out, so they cost less than their sum. This is the first rule that stayed \
             true when each charge is chosen after seeing the answers before: a budget of (1, 10⁻⁶) admits 154 of ε = 0.01.",
        ),
        FilterRule::Whitehouse => (
            "counts the squares of ε",
            "It counts the square of every ε, so that a charge half as large takes a quarter. It goes on while the squares, or else \
             the plain sum of every ε, are within the budget: one of (1, 10⁻⁶) admits 349 of ε = 0.01.",
        ),
        FilterRule::Zcdp => (
            "counts every cost as zCDP; takes all kinds of costs",
            "It counts every charge by its ρ, the measure that suits Gaussian noise, and asks which ε and δ the sum comes to. It \
             takes all kinds of costs, discrete Gaussian noise among them: a budget of (1, 10⁻⁶) admits 487 of ε = 0.01.",
        ),
        FilterRule::Renyi => (
            "counts Rényi divergence at one order; takes all kinds of costs",
            "It counts every charge by its Rényi divergence at one order that was fixed when the account was opened, and asks which ε \
             and δ the sum comes to. It takes all kinds of costs: a budget of (1, 10⁻⁶) admits 490 of ε = 0.01.",
        ),
        FilterRule::Residue => (
            "keeps what is left; admits the most",
            "It keeps count of what is left instead of what is spent, as an amount of Gaussian noise that could still be paid for, \
             and so admits nearly what would be possible if all charges were known beforehand: a budget of (1, 10⁻⁶) admits 558 of \
             ε = 0.01, where the most is 562.",
        ),
    };
    Meaning { short, long }
}

/// What an odometer rule does.
pub(super) fn of_odometer(rule: OdometerRule) -> Meaning {
    let (short, long) = match rule {
        OdometerRule::Basic => (
            "adds up every ε",
            "It adds up the ε of all charges. The reading is sure where no mechanism has a δ of its own, and large where charges are \
             many.",
        ),
        OdometerRule::Advanced => (
            "the first paper's odometer, as it was printed",
            "The first odometer that may be read at any moment. It needs no guess of how much will be spent, and reads higher than \
             the newer ones.",
        ),
        OdometerRule::FreeX => (
            "the first paper's, near a spending that is guessed",
            "The first paper's odometer with a guess of how much will be spent: it reads lowest near that guess, and is valid \
             everywhere.",
        ),
        OdometerRule::NormalMixture => (
            "averages over how fast losses gather; two-sided",
            "It averages over how fast losses may gather, and reads low over a wide range around the spending that is expected. It \
             bounds the loss in both directions.",
        ),
        OdometerRule::Stitched => (
            "stitches bounds for small and large spending together",
            "It stitches together one bound for each scale of spending, so that it reads low for small and for large spending alike.",
        ),
        OdometerRule::RenyiMixture => (
            "averages over 25 Rényi orders; takes all kinds of costs",
            "It averages over 25 ways to count (Rényi orders) that were fixed in advance, so that whichever suits the charges best \
             counts most. It takes all kinds of costs, and reads the plain sum of every ε where that is smaller.",
        ),
    };
    Meaning { short, long }
}

/// What is protected, in a sentence.
pub(super) fn of_privacy(unit: &str, neighbours: Neighbours) -> String {
    let what = match neighbours {
        Neighbours::AddRemove => format!("whether any one {unit} is in the data or not"),
        Neighbours::Substitute => format!("whether any one {unit} in the data was exchanged for another"),
    };
    format!("From all answers together, nobody can tell {what}, but for what ε and δ allow.")
}

#[cfg(test)]
mod tests {
    use taximeter_accounting::{Budget, Cost, Filter, FilterSpec, Verdict};

    use super::*;

    #[test]
    fn a_rule_admits_as_many_charges_as_its_words_say() {
        let cost = Cost::parse_epsilon("0.01").unwrap().cost;
        for rule in FilterRule::ALL {
            let mut filter = Filter::new(FilterSpec::new(rule, Budget::parse("1,1e-6").unwrap())).unwrap();
            let mut admitted = 0;
            while let Verdict::Continue(_) = filter.charge(&cost).unwrap() {
                admitted += 1;
            }
            assert!(of_filter(rule).long.contains(&format!("admits {admitted} of")), "{}: {admitted}", rule.name());
        }
    }
}
