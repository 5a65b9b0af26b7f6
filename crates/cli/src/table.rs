//! Tables for people.

/// Rows under headings, each column as wide as it needs.
pub struct TextTable {
    /// The heading of each column, and whether it is right-aligned.
    columns: Vec<(String, bool)>,
    rows: Vec<Vec<String>>,
}

impl TextTable {
    /// A table with these headings. A heading that starts with `>` makes its column right-aligned.
    pub fn new(headings: &[impl AsRef<str>]) -> TextTable {
        let column = |heading: &dyn AsRef<str>| match heading.as_ref().strip_prefix('>') {
            Some(heading) => (heading.to_string(), true),
            None => (heading.as_ref().to_string(), false),
        };
        TextTable { columns: headings.iter().map(|heading| column(heading)).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }
}

impl std::fmt::Display for TextTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let headings: Vec<String> = self.columns.iter().map(|(heading, _)| heading.clone()).collect();
        let cells = |at: usize| self.rows.iter().chain([&headings]).filter_map(move |row| row.get(at));
        let width = |at: usize| cells(at).map(|cell| cell.chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..headings.len()).map(width).collect();
        let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
        let line = |row: &Vec<String>| {
            let cells =
                row.iter().zip(&widths).zip(&self.columns).map(|((cell, &width), (_, is_right))| match is_right {
                    true => format!("{cell:>width$}"),
                    false => format!("{cell:<width$}"),
                });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_string()
        };
        let lines: Vec<String> = [&headings, &rule].into_iter().chain(&self.rows).map(line).collect();
        f.write_str(&lines.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = TextTable::new(&["rule", ">queries"]);
        table.row(["basic", "100"]);
        table.row(["ε", "12,345"]);
        assert_eq!(table.to_string(), "rule   queries\n─────  ───────\nbasic      100\nε       12,345");
    }
}
