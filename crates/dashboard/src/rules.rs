//! What is protected, in plain language.

use taximeter_ledger::Neighbours;

/// A sentence about what is protected.
pub(super) fn of_privacy(unit: &str, neighbours: Neighbours) -> String {
    let what = match neighbours {
        Neighbours::AddRemove => format!("whether any one {unit} is in the data or not"),
        Neighbours::Substitute => format!("whether any one {unit} in the data was replaced by another"),
    };
    format!("All answers together do not reveal {what}, beyond what ε and δ allow.")
}
