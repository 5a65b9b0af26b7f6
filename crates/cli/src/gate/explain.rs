//! The explanation of a question, for people.

use taximeter_gate::ExpectedAverage;
use taximeter_ledger::AccountName;
use taximeter_service::words::{grouped, show_scale};
use taximeter_service::{ExplainedStatement, Explanation, about_average};

use crate::key_values::KeyValues;
use crate::ledger::receipt::what_fits;
use crate::ledger::show;
use crate::table::TextTable;

/// What a question would run and cost, and whether it would be answered.
pub fn text(explanation: &Explanation) -> String {
    let mut lines = KeyValues::default();
    lines.add("question", &explanation.question);
    for ExplainedStatement { sql, parameters } in &explanation.statements {
        lines.add("runs", sql);
        if !parameters.is_empty() {
            lines.add("with", parameters.join(", "));
        }
    }
    match explanation.groups {
        Some(groups) if !explanation.named_groups.is_empty() => {
            let keys = explanation.named_groups.join(", ");
            lines.add("groups", format!("{}, of the values that WHERE names: {keys}", grouped(&groups.to_string())));
        }
        Some(1) => {}
        Some(groups) => lines.add("groups", grouped(&groups.to_string())),
        None => lines.add("groups", "those with enough rows in the data, above a threshold that the answer states"),
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
    let kind = |average: &ExpectedAverage| if average.has_too_few_rows() { "warning" } else { "note" };
    let notes = explanation.averages.iter().map(|average| format!("\n\n{}: {}", kind(average), about_average(average)));
    format!("{lines}\n\n{}{}", parts(explanation), notes.collect::<String>())
}

fn parts(explanation: &Explanation) -> TextTable {
    let mut table = TextTable::new(&["computed", ">sensitivity", "noise", ">scale", ">95% within ±", "cost"]);
    for part in &explanation.parts {
        let sensitivity = part.sensitivity.as_str();
        table.row([
            part.measure.clone(),
            match sensitivity.parse() {
                // The length of a vector may be the square root of an integer.
                Ok(length) if part.noise == "rounded-gaussian" => show_scale(length),
                _ => grouped(sensitivity),
            },
            part.noise.clone(),
            show_scale(part.scale.0),
            grouped(part.half_width.as_str()),
            show::costs(&[part.cost]),
        ]);
    }
    table
}
