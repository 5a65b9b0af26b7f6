//! Tables for people.

use std::fmt;

/// Rows of text under their headings.
pub struct Table<const COLUMNS: usize> {
    columns: [Column; COLUMNS],
    rows: Vec<[String; COLUMNS]>,
}

/// How a column is aligned.
#[derive(Clone, Copy)]
pub enum Column {
    /// Names and sentences, on the left.
    Text(&'static str),
    /// Numbers, on the right.
    Number(&'static str),
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    /// A table with nothing in it.
    pub fn new(columns: [Column; COLUMNS]) -> Table<COLUMNS> {
        Table { columns, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: [String; COLUMNS]) {
        self.rows.push(cells);
    }
}

impl<const COLUMNS: usize> fmt::Display for Table<COLUMNS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headings = self.columns.map(|(Column::Text(heading) | Column::Number(heading))| heading.to_string());
        let lines = || std::iter::once(&headings).chain(&self.rows);
        let width = |at: usize| lines().map(|line| line[at].chars().count()).max().unwrap_or(0);
        let widths: Vec<_> = (0..COLUMNS).map(width).collect();
        for line in lines() {
            let cells = line.iter().zip(&self.columns).zip(&widths).map(|((cell, column), &width)| match column {
                Column::Text(_) => format!("{cell:<width$}"),
                Column::Number(_) => format!("{cell:>width$}"),
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
        let mut table = Table::new([Column::Text("rule"), Column::Number("time")]);
        table.row(["residue".to_string(), "1 us".to_string()]);
        table.row(["ρ".to_string(), "20 us".to_string()]);
        assert_eq!(table.to_string(), "rule      time\nresidue   1 us\nρ        20 us\n");
    }
}
