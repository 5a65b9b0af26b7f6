//! Tables with a caption for screen readers. Wide tables scroll sideways; on a phone their rows are cards, so cells have a `data-label`.

use maud::{Markup, html};

/// A table, defined by its columns.
pub(super) struct DataTable<'a, R: ?Sized> {
    class: &'a str,
    label: &'a str,
    caption: &'a str,
    columns: Vec<TableColumn<'a, R>>,
}

struct TableColumn<'a, R: ?Sized> {
    head: &'a str,
    /// The class of its cells; numbers are right-aligned.
    class: &'a str,
    is_row_head: bool,
    cell: Box<dyn Fn(&R) -> Markup + 'a>,
}

impl<'a, R: ?Sized> DataTable<'a, R> {
    /// A table. The label names its region for page navigation; the caption describes the table itself.
    pub(super) fn new(label: &'a str, caption: &'a str) -> DataTable<'a, R> {
        DataTable { class: "cards", label, caption, columns: Vec::new() }
    }

    pub(super) fn class(self, class: &'a str) -> DataTable<'a, R> {
        DataTable { class, ..self }
    }

    /// A column that heads its rows.
    pub(super) fn row_head(
        mut self,
        head: &'a str,
        class: &'a str,
        cell: impl Fn(&R) -> Markup + 'a,
    ) -> DataTable<'a, R> {
        self.columns.push(TableColumn { head, class, is_row_head: true, cell: Box::new(cell) });
        self
    }

    pub(super) fn column(
        mut self,
        head: &'a str,
        class: &'a str,
        cell: impl Fn(&R) -> Markup + 'a,
    ) -> DataTable<'a, R> {
        self.columns.push(TableColumn { head, class, is_row_head: false, cell: Box::new(cell) });
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

impl<R: ?Sized> TableColumn<'_, R> {
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
