//! How soon a browser shows an account's page: with few charges and with many, in turns.

use clap::Args;
use serde::Serialize;
use taximeter_accounting::Cost;
use taximeter_ledger::{Charge, Key, Ledger, Location, Options};
use taximeter_testing::Browser;

use crate::ledger::load::{Callers, accounts, charge_so_many, open_accounts};
use crate::server::{Server, owner};

/// The arguments of the benchmark.
#[derive(Args)]
pub struct DashboardBench {
    /// One JSON document on standard output; the text goes to standard error
    #[arg(long)]
    json: bool,
    /// Charges of the large account
    #[arg(long, default_value_t = 100_000)]
    charges: u64,
    /// How often each page is opened
    #[arg(long, default_value_t = 20)]
    visits: usize,
}

/// Charges of the small account.
const FEW: u64 = 100;

#[derive(Serialize)]
struct Report {
    few: Visits,
    many: Visits,
    many_to_few: f64,
    /// How long it took from signing in until the page had the whole journal.
    journal_milliseconds: f64,
}

/// What a page took from the click to the first paint, in milliseconds.
#[derive(Serialize)]
struct Visits {
    charges: u64,
    first_paint_median: f64,
    first_paint_worst: f64,
    answer_median: f64,
}

type Failed = Box<dyn std::error::Error>;

impl DashboardBench {
    /// Measures, and reports.
    pub fn run(&self) -> Result<(), String> {
        let report = self.measure().map_err(|error| error.to_string())?;
        if self.json {
            println!("{}", serde_json::to_string(&report).map_err(|error| error.to_string())?);
        }
        Ok(())
    }

    fn measure(&self) -> Result<Report, Failed> {
        let folder = tempfile::tempdir()?;
        let location = Location::File(folder.path().join("taximeter.db"));
        let options = Options { create: true, witness: Some(folder.path().join("witness")), ..Options::default() };
        let ledger = Ledger::open(&location, options)?;
        let names = accounts(2)?;
        open_accounts(&ledger, &names)?;
        charge_so_many(&ledger, Callers::Tasks(64), &names[..1], self.charges)?;
        let cost = Cost::parse_epsilon("0.00001")?.cost;
        for _ in 0..FEW {
            ledger.charge(Charge::new(Key::generate()?, vec![names[1].clone()], vec![cost])?)?;
        }
        let token = owner(&location, &ledger)?;
        drop(ledger);
        let server = Server::start(&location, None, folder.path())?;
        let browser = Browser::start()?;
        let pages = [&names[1], &names[0]].map(|name| format!("http://{}/accounts/{name}", server.address));
        let journal_milliseconds = sign_in(&browser, &pages[1], &token);
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..self.visits {
            for (page, times) in pages.iter().zip(&mut times) {
                browser.open(page);
                times.push(paint(&browser)?);
            }
        }
        let [few, many] = times;
        let (few, many) = (Visits::new(FEW, few), Visits::new(self.charges, many));
        let report =
            Report { many_to_few: many.first_paint_median / few.first_paint_median, few, many, journal_milliseconds };
        self.print(&report);
        Ok(report)
    }

    fn print(&self, report: &Report) {
        let line = |visits: &Visits| {
            format!(
                "  {:>7} charges  first paint after {:.0} ms (median of {}), {:.0} ms at worst; the page itself after {:.0} ms\n",
                visits.charges, visits.first_paint_median, self.visits, visits.first_paint_worst, visits.answer_median
            )
        };
        let text = format!(
            "an account's page in Chromium, on loopback\n{}{}  ratio {:.2}; the target for first paint is 300 ms\n  \
             the journal was read {:.0} ms after signing in\n",
            line(&report.few),
            line(&report.many),
            report.many_to_few,
            report.journal_milliseconds
        );
        if self.json { eprint!("{text}") } else { print!("{text}") }
    }
}

/// Signs in, and waits until the page is not about to look again: then it has the whole journal. How long that took.
fn sign_in(browser: &Browser, page: &str, token: &str) -> f64 {
    browser.open(page);
    browser.find("input[name=token]").type_text(token);
    let start = std::time::Instant::now();
    browser.find("main button").click();
    browser.wait_until("the whole journal is read", |browser| {
        !browser.find_all("figure svg").is_empty() && browser.find_all("[data-again]").is_empty()
    });
    start.elapsed().as_secs_f64() * 1e3
}

/// When the first text or picture was painted, and when the page had arrived, in milliseconds.
fn paint(browser: &Browser) -> Result<(f64, f64), String> {
    let script = "const paint = performance.getEntriesByName('first-contentful-paint')[0];
        const page = performance.getEntriesByType('navigation')[0];
        return paint ? [paint.startTime, page.responseEnd] : null;";
    browser.wait_until("something is painted", |browser| !browser.script(script, &[]).is_null());
    let times = browser.script(script, &[]);
    match (times[0].as_f64(), times[1].as_f64()) {
        (Some(paint), Some(answer)) => Ok((paint, answer)),
        _ => Err(format!("the browser says {times}")),
    }
}

impl Visits {
    fn new(charges: u64, times: Vec<(f64, f64)>) -> Visits {
        let (mut paints, mut answers): (Vec<f64>, Vec<f64>) = times.into_iter().unzip();
        paints.sort_by(f64::total_cmp);
        answers.sort_by(f64::total_cmp);
        let median = |sorted: &[f64]| sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN);
        Visits {
            charges,
            first_paint_median: median(&paints),
            first_paint_worst: paints.last().copied().unwrap_or(f64::NAN),
            answer_median: median(&answers),
        }
    }
}
