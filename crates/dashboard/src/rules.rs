//! What is protected, for people who have not read the papers.

use taximeter_ledger::Neighbours;

/// What is protected, in a sentence.
pub(super) fn of_privacy(unit: &str, neighbours: Neighbours) -> String {
    let what = match neighbours {
        Neighbours::AddRemove => format!("whether any one {unit} is in the data or not"),
        Neighbours::Substitute => format!("whether any one {unit} in the data was exchanged for another"),
    };
    format!("From all answers together, nobody can tell {what}, but for what ε and δ allow.")
}
