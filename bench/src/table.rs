//! Tables for people.

use std::fmt;

/// Rows of text under their headings.
pub struct PrintedTable<const COLUMNS: usize> {
    columns: [TableColumn; COLUMNS],
    rows: Vec<[String; COLUMNS]>,
}

/// How a column is aligned.
#[derive(Clone, Copy)]
pub enum TableColumn {
    /// Names and sentences, on the left.
    Text(&'static str),
    /// Numbers, on the right.
    Number(&'static str),
}

impl<const COLUMNS: usize> PrintedTable<COLUMNS> {
    /// A table with nothing in it.
    pub fn new(columns: [TableColumn; COLUMNS]) -> PrintedTable<COLUMNS> {
        PrintedTable { columns, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: [String; COLUMNS]) {
        self.rows.push(cells);
    }
}

impl<const COLUMNS: usize> fmt::Display for PrintedTable<COLUMNS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headings =
            self.columns.map(|(TableColumn::Text(heading) | TableColumn::Number(heading))| heading.to_string());
        let lines = || std::iter::once(&headings).chain(&self.rows);
        let width = |at: usize| lines().map(|line| line[at].chars().count()).max().unwrap_or(0);
        let widths: Vec<_> = (0..COLUMNS).map(width).collect();
        for line in lines() {
            let cells = line.iter().zip(&self.columns).zip(&widths).map(|((cell, column), &width)| match column {
                TableColumn::Text(_) => format!("{cell:<width$}"),
                TableColumn::Number(_) => format!("{cell:>width$}"),
            });
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_on_the_left_and_numbers_on_the_right() {
        let mut table = PrintedTable::new([TableColumn::Text("rule"), TableColumn::Number("time")]);
        table.row(["residue".to_string(), "1 us".to_string()]);
        table.row(["ρ".to_string(), "20 us".to_string()]);
        assert_eq!(table.to_string(), "rule      time\nresidue   1 us\nρ        20 us\n");
    }
}
