//! What would come of a question, for people.

use taximeter_api::{ExpectedAverageDocument, Explanation};
use taximeter_ledger::AccountName;

use super::render;
use crate::ledger::receipt::what_fits;
use crate::ledger::show::{self, Lines, number};
use crate::table::Table;

/// What would happen.
pub fn text(explanation: &Explanation) -> String {
    let mut lines = Lines::default();
    lines.add("question", &explanation.question);
    lines.add("runs", &explanation.sql);
    if !explanation.parameters.is_empty() {
        lines.add("with", explanation.parameters.join(", "));
    }
    lines.add("costs", show::costs(&[explanation.cost]));
    let payers: Vec<&str> = explanation.pays.iter().map(AccountName::as_str).collect();
    lines.add("pays", payers.join(", "));
    match explanation.admitted {
        true => lines.add("verdict", "would be answered; nothing was charged"),
        false => {
            lines.add("verdict", "would be refused; nothing was charged");
            lines.add("fits", what_fits(&[explanation.cost], explanation.fits.as_deref(), explanation.not_open, true));
        }
    }
    let warnings: String = explanation.averages.iter().map(|average| format!("\n\n{}", needs(average))).collect();
    format!("{lines}\n\n{}{warnings}", parts(explanation))
}

/// How many rows an average needs, as a warning where that is known to be more than there are.
fn needs(average: &ExpectedAverageDocument) -> String {
    let ExpectedAverageDocument { column, bounds: [low, high], needed_rows, expected_rows } = average;
    let needed = format!(
        "{column} needs at least {} in each group: with fewer, its interval is wider than the bounds {low} to {high}, and only its \
         noisy sum and count are worth having",
        number(*needed_rows, "row", "rows")
    );
    match expected_rows {
        Some(rows) if rows < needed_rows => {
            format!("warning: {needed}. Its groups have about {}, or fewer: offer more", number(*rows, "row", "rows"))
        }
        _ => format!("note: {needed}"),
    }
}

fn parts(explanation: &Explanation) -> Table {
    let mut table = Table::new(&["computed", ">sensitivity", "noise", ">scale", ">95% within ±", "cost"]);
    for part in &explanation.parts {
        let sensitivity = part.sensitivity.as_str();
        table.row([
            part.measure.clone(),
            match sensitivity.parse() {
                // The length of a vector, which may be the root of an integer.
                Ok(length) if part.noise == "discrete-gaussian" => render::scale(length),
                _ => render::grouped(sensitivity),
            },
            part.noise.clone(),
            render::scale(part.scale.0),
            render::grouped(part.half_width.as_str()),
            show::costs(&[part.cost]),
        ]);
    }
    table
}
