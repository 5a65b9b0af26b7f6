//! The noise of each number, before and after asking.

use maud::{Markup, html};
use taximeter_gate::MeasuredPart;
use taximeter_service::words::{grouped, show_cost, show_scale};

use crate::table::DataTable;

/// A table of the noise; `within` is the heading of the half widths.
pub(super) fn noise<'a>(within: &str, parts: impl IntoIterator<Item = &'a MeasuredPart>) -> Markup {
    DataTable::new("Noise", "The noise, in the units of the answer")
        .class("numbers")
        .row_head("Computed", "wrap", |part: &MeasuredPart| html! { (part.measure) })
        .column(within, "number", |part| html! { strong { (grouped(part.half_width.as_str())) } })
        .column("Noise", "", |part| html! { (part.noise.replace('-', " ")) })
        .column("Scale", "number", |part| html! { (show_scale(part.scale.0)) })
        .column("Sensitivity", "number", |part| match part.sensitivity.as_str().parse() {
            // The length of a vector: possibly the root of an integer.
            Ok(length) if part.noise == "rounded-gaussian" => html! { (show_scale(length)) },
            _ => html! { (grouped(part.sensitivity.as_str())) },
        })
        .column("Cost", "nowrap", |part| html! { (show_cost(&part.cost)) })
        .rows(parts)
}
