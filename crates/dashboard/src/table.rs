//! Tables: with a caption for screen readers, and in a frame that is moved sideways where the table is too wide for it. On a phone
//! their rows are cards, so cells say what they are (`data-label`).

use maud::{Markup, html};

/// A table of rows of a kind, column by column.
pub(super) struct Table<'a, R: ?Sized> {
    class: &'a str,
    label: &'a str,
    caption: &'a str,
    columns: Vec<Column<'a, R>>,
}

struct Column<'a, R: ?Sized> {
    head: &'a str,
    /// The class of its cells; numbers stand on the right.
    class: &'a str,
    is_row_head: bool,
    cell: Box<dyn Fn(&R) -> Markup + 'a>,
}

impl<'a, R: ?Sized> Table<'a, R> {
    /// A table. Its label is for those who move through a page, and says that it is a table, since the panel around it has the same
    /// name; its caption is for those who are at it.
    pub(super) fn new(label: &'a str, caption: &'a str) -> Table<'a, R> {
        Table { class: "cards", label, caption, columns: Vec::new() }
    }

    pub(super) fn class(self, class: &'a str) -> Table<'a, R> {
        Table { class, ..self }
    }

    /// The column that says what a row is about.
    pub(super) fn row_head(mut self, head: &'a str, class: &'a str, cell: impl Fn(&R) -> Markup + 'a) -> Table<'a, R> {
        self.columns.push(Column { head, class, is_row_head: true, cell: Box::new(cell) });
        self
    }

    pub(super) fn column(mut self, head: &'a str, class: &'a str, cell: impl Fn(&R) -> Markup + 'a) -> Table<'a, R> {
        self.columns.push(Column { head, class, is_row_head: false, cell: Box::new(cell) });
        self
    }

    pub(super) fn rows<'r>(&self, rows: impl IntoIterator<Item = &'r R>) -> Markup
    where
        R: 'r,
    {
        html! {
            div.scroll tabindex="0" role="region" aria-label={ (self.label) ": table" } {
                table class=(self.class) {
                    caption.hidden-text { (self.caption) }
                    thead {
                        tr { @for column in &self.columns { th scope="col" class=[column.number()] { (column.head) } } }
                    }
                    tbody {
                        @for row in rows { tr { @for column in &self.columns { (column.markup(row)) } } }
                    }
                }
            }
        }
    }
}

impl<R: ?Sized> Column<'_, R> {
    fn number(&self) -> Option<&'static str> {
        (self.class == "number").then_some("number")
    }

    fn markup(&self, row: &R) -> Markup {
        let class = Some(self.class).filter(|class| !class.is_empty());
        html! {
            @if self.is_row_head { th scope="row" class=[class] data-label=[self.number().map(|_| self.head)] { ((self.cell)(row)) } }
            @else { td class=[class] data-label=(self.head) { ((self.cell)(row)) } }
        }
    }
}
