//! The fields of forms, each with its label and what to know about it, filled in as they were.

use maud::{Markup, Render, html};

use super::fields::Fields;

/// A field to write in.
pub(super) struct Input<'a> {
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

impl<'a> Input<'a> {
    pub(super) fn new(name: &'a str, label: &'a str, filled: &'a Fields) -> Input<'a> {
        let value = filled.get(name).unwrap_or_default();
        let (kind, mode, placeholder, longest) = (None, None, None, None);
        Input { name, label, value, kind, mode, placeholder, longest, is_required: false, help: "" }
    }

    /// One for a decimal number.
    pub(super) fn amount(name: &'a str, label: &'a str, filled: &'a Fields) -> Input<'a> {
        Input { mode: Some("decimal"), ..Input::new(name, label, filled) }
    }

    /// What stands in it if it is empty.
    pub(super) fn or(self, value: &'a str) -> Input<'a> {
        Input { value: if self.value.is_empty() { value } else { self.value }, ..self }
    }

    pub(super) fn help(self, help: &'a str) -> Input<'a> {
        Input { help, ..self }
    }

    pub(super) fn placeholder(self, example: &'a str) -> Input<'a> {
        Input { placeholder: Some(example), ..self }
    }

    pub(super) fn required(self, is_required: bool) -> Input<'a> {
        Input { is_required, ..self }
    }

    pub(super) fn longest(self, characters: usize) -> Input<'a> {
        Input { longest: Some(characters), ..self }
    }

    /// One for a date.
    pub(super) fn date(self) -> Input<'a> {
        Input { kind: Some("date"), ..self }
    }

    /// A password field: its text is hidden and is not filled in again.
    pub(super) fn secret(self) -> Input<'a> {
        Input { kind: Some("password"), value: "", ..self }
    }
}

impl Render for Input<'_> {
    fn render(&self) -> Markup {
        let Input { name, label, value, kind, mode, placeholder, longest, is_required, help } = self;
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
pub(super) fn lines(name: &str, label: &str, rows: usize, example: &str, help: &str, filled: &Fields) -> Markup {
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

/// A list to choose one of: values, and the words for them.
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

/// Rules to choose one of, with what to choose them by. The default stands last in the tables of rules, and first here.
pub(super) fn rule_choices<const N: usize>(
    rules: [(&'static str, &'static str); N],
) -> impl Iterator<Item = (&'static str, String)> {
    rules.into_iter().rev().map(|(name, short)| (name, format!("{name}: {short}")))
}

/// A box to tick.
pub(super) fn check(name: &str, label: &str, filled: &Fields) -> Markup {
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
