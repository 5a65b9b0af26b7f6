//! Tables for people.

/// Rows under headings, each column as wide as it needs.
pub struct TextTable {
    /// Headings, and whether a column is set flush right.
    columns: Vec<(String, bool)>,
    rows: Vec<Vec<String>>,
}

impl TextTable {
    /// Headings; one that starts with `>` stands over numbers, which are set flush right.
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
        let width = |text: &str| text.chars().count();
        let widths: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .map(|(at, (heading, _))| {
                let cells = self.rows.iter().filter_map(|row| row.get(at)).map(|cell| width(cell));
                cells.chain([width(heading)]).max().unwrap_or(0)
            })
            .collect();
        let line = |cells: &mut dyn Iterator<Item = &str>| {
            let mut line = String::new();
            for ((cell, width_of), (_, right)) in cells.zip(&widths).zip(&self.columns) {
                let space = " ".repeat(width_of.saturating_sub(width(cell)));
                let (before, after) = if *right { (space.as_str(), "") } else { ("", space.as_str()) };
                line.push_str(&format!("{before}{cell}{after}  "));
            }
            line.trim_end().to_string()
        };
        writeln!(f, "{}", line(&mut self.columns.iter().map(|(heading, _)| heading.as_str())))?;
        let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
        write!(f, "{}", line(&mut rule.iter().map(String::as_str)))?;
        for row in &self.rows {
            write!(f, "\n{}", line(&mut row.iter().map(String::as_str)))?;
        }
        Ok(())
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
