//! How often the 95 % intervals of answers hold: every form of question is asked again and again through the gate, on fresh ledgers, and
//! its intervals are compared with the exact answer.

mod binomial;
mod forms;
mod measure;
mod small;
mod survey;

use clap::Args;

use self::forms::{CoverageForm, forms};
use self::measure::{MeasuredForm, measure};
use self::small::Published;
use crate::table::{PrintedTable, TableColumn};

/// The arguments of the benchmark.
#[derive(Args)]
pub struct Coverage {
    /// One JSON document on standard output; the table goes to standard error
    #[arg(long)]
    json: bool,
    /// How many ledgers are opened, one after the other
    #[arg(long, default_value_t = 250)]
    ledgers: u32,
    /// How often every question is asked on each
    #[arg(long, default_value_t = 8)]
    asks: u32,
    /// Only forms whose names contain this
    #[arg(long, default_value = "")]
    only: String,
}

impl Coverage {
    /// Measures, and reports.
    pub fn run(&self) -> Result<(), String> {
        let forms: Vec<CoverageForm> = forms().into_iter().filter(|form| form.name.contains(&self.only)).collect();
        let measured = measure(&forms, self.ledgers, self.asks).map_err(|error| error.to_string())?;
        let mut table = PrintedTable::new([
            TableColumn::Text("form"),
            TableColumn::Text("price"),
            TableColumn::Number("intervals"),
            TableColumn::Number("hold"),
            TableColumn::Number("95 % interval"),
            TableColumn::Text("wanted"),
            TableColumn::Text(""),
        ]);
        for MeasuredForm { form, price, intervals, coverage, between: [low, high], conservative, as_wanted, .. } in
            &measured
        {
            table.row([
                form.to_string(),
                price.clone(),
                intervals.to_string(),
                format!("{:.1} %", 100.0 * coverage),
                format!("{:.1}–{:.1} %", 100.0 * low, 100.0 * high),
                conservative.map_or("94 to 97 %".to_string(), |why| format!("95 % or more: {why}")),
                if *as_wanted { String::new() } else { "!".to_string() },
            ]);
        }
        self.print(&table.to_string());
        let small = self.small_groups()?;
        if self.json {
            let report = serde_json::json!({ "forms": measured, "small_groups": small });
            println!("{report}");
        }
        Ok(())
    }

    /// What is published of groups around the threshold, which is 170 rows here.
    fn small_groups(&self) -> Result<Vec<Published>, String> {
        let mut table = PrintedTable::new([
            TableColumn::Number("rows in a group"),
            TableColumn::Number("averages asked"),
            TableColumn::Number("published"),
            TableColumn::Number("of these above the truth"),
            TableColumn::Number("intervals that hold"),
        ]);
        let sizes = [(22, 1_000), (120, 200), (170, 100), (250, 100), (500, 50)];
        let mut all = Vec::new();
        for (rows, groups) in sizes.into_iter().filter(|_| self.only.is_empty()) {
            let published = small::measure(rows, groups, self.ledgers).map_err(|error| error.to_string())?;
            let part = |count: u64, of: u64| format!("{:.1} %", 100.0 * count as f64 / of as f64);
            table.row([
                rows.to_string(),
                published.asked.to_string(),
                format!(
                    "{} ({:.2} %)",
                    published.published,
                    100.0 * published.published as f64 / published.asked as f64
                ),
                part(published.above, published.published),
                part(published.held, published.published),
            ]);
            all.push(published);
        }
        if !all.is_empty() {
            self.print("averages of small groups at ε = 0.1: the threshold follows from the noise alone\n");
            self.print(&table.to_string());
        }
        Ok(all)
    }

    fn print(&self, text: &str) {
        if self.json { eprintln!("{text}") } else { println!("{text}") }
    }
}
