//! Form controls with label, help and the value that was entered.

use maud::{Markup, Render, html};
use taximeter_accounting::FilterRule;

use super::form_data::FormData;

/// A field for text.
pub(super) struct TextField<'a> {
    name: &'a str,
    label: &'a str,
    value: &'a str,
    kind: Option<&'a str>,
    mode: Option<&'a str>,
    placeholder: Option<&'a str>,
    longest: Option<usize>,
    is_required: bool,
    help: &'a str,
}

impl<'a> TextField<'a> {
    pub(super) fn new(name: &'a str, label: &'a str, filled: &'a FormData) -> TextField<'a> {
        let value = filled.get(name).unwrap_or_default();
        let (kind, mode, placeholder, longest) = (None, None, None, None);
        TextField { name, label, value, kind, mode, placeholder, longest, is_required: false, help: "" }
    }

    /// A field for a decimal number.
    pub(super) fn amount(name: &'a str, label: &'a str, filled: &'a FormData) -> TextField<'a> {
        TextField { mode: Some("decimal"), ..TextField::new(name, label, filled) }
    }

    /// The value of an empty field.
    pub(super) fn or(self, value: &'a str) -> TextField<'a> {
        TextField { value: if self.value.is_empty() { value } else { self.value }, ..self }
    }

    pub(super) fn help(self, help: &'a str) -> TextField<'a> {
        TextField { help, ..self }
    }

    pub(super) fn placeholder(self, example: &'a str) -> TextField<'a> {
        TextField { placeholder: Some(example), ..self }
    }

    pub(super) fn required(self, is_required: bool) -> TextField<'a> {
        TextField { is_required, ..self }
    }

    pub(super) fn longest(self, characters: usize) -> TextField<'a> {
        TextField { longest: Some(characters), ..self }
    }

    /// A field for a date.
    pub(super) fn date(self) -> TextField<'a> {
        TextField { kind: Some("date"), ..self }
    }

    /// A password field: its text is hidden and is not filled in again.
    pub(super) fn secret(self) -> TextField<'a> {
        TextField { kind: Some("password"), value: "", ..self }
    }
}

impl Render for TextField<'_> {
    fn render(&self) -> Markup {
        let TextField { name, label, value, kind, mode, placeholder, longest, is_required, help } = self;
        html! {
            div.field {
                label for=(name) { (label) }
                input id=(name) name=(name) type=[kind] required[*is_required] inputmode=[mode] autocomplete="off" spellcheck="false"
                    maxlength=[longest] placeholder=[placeholder] value=(value) aria-describedby=[described(name, help)];
                (help_of(name, help))
            }
        }
    }
}

/// A field for lines of text.
pub(super) fn lines(name: &str, label: &str, rows: usize, example: &str, help: &str, filled: &FormData) -> Markup {
    html! {
        div.field {
            label for=(name) { (label) }
            textarea id=(name) name=(name) rows=(rows) spellcheck="false" placeholder=(example) aria-describedby=[described(name, help)] {
                (filled.get(name).unwrap_or_default())
            }
            (help_of(name, help))
        }
    }
}

/// A list to choose from: values and their labels.
pub(super) fn choice<W: Render>(
    name: &str,
    label: &str,
    options: impl IntoIterator<Item = (&'static str, W)>,
    chosen: Option<&str>,
    help: &str,
) -> Markup {
    html! {
        div.field {
            label for=(name) { (label) }
            select id=(name) name=(name) aria-describedby=[described(name, help)] {
                @for (value, words) in options { option value=(value) selected[Some(value) == chosen] { (words) } }
            }
            (help_of(name, help))
        }
    }
}

/// The choices of rules, with a short description each. The default is last in the table of rules and first here.
pub(super) fn rule_choices<const N: usize>(
    rules: [(&'static str, &'static str); N],
) -> impl Iterator<Item = (&'static str, String)> {
    rules.into_iter().rev().map(|(name, short)| (name, format!("{name}: {short}")))
}

/// The list of filter rules.
pub(super) fn filter_rule(label: &str, filled: &FormData, help: &str) -> Markup {
    let choices = rule_choices(FilterRule::ALL.map(|rule| (rule.name(), rule.short())));
    choice("rule", label, choices, filled.get("rule"), help)
}

/// A checkbox.
pub(super) fn check(name: &str, label: &str, filled: &FormData) -> Markup {
    html! {
        label.check {
            input type="checkbox" name=(name) value="yes" checked[filled.is_ticked(name)];
            span { (label) }
        }
    }
}

fn described(name: &str, help: &str) -> Option<String> {
    (!help.is_empty()).then(|| format!("{name}-help"))
}

fn help_of(name: &str, help: &str) -> Markup {
    html! { @if !help.is_empty() { p.help id={ (name) "-help" } { (help) } } }
}
