//! Durable charges, beside a bare loop that writes the same bytes to the same kind of store in the same run.

mod bare;
mod cosigned;
mod least;
pub mod load;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;
use taximeter_ledger::{Ledger, LedgerReader, Location, Options, verify};
use taximeter_testing::PrivatePostgres;

use self::bare::{BarePostgresStore, BareSqliteStore, BareStore, Sample};
use self::cosigned::CosignedRate;
use self::load::{Callers, ChargePattern, Keys, accounts, charge_for, charge_so_many, open_accounts};
use crate::memory::resident_bytes;
use crate::table::{PrintedTable, TableColumn};

/// The arguments of the benchmark.
#[derive(Args)]
pub struct LedgerBench {
    /// One JSON document on standard output; the tables go to standard error
    #[arg(long)]
    json: bool,
    /// Seconds for each measurement of a rate
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// How many charges the long ledger has
    #[arg(long, default_value_t = 1_000_000)]
    charges: u64,
    /// Skip PostgreSQL
    #[arg(long)]
    no_postgres: bool,
    /// Skip the long ledger
    #[arg(long)]
    no_long: bool,
    /// Only the rates with checkpoints and a cosigning witness
    #[arg(long)]
    only_cosigned: bool,
    /// A folder on another disk, for the memory of a witness [default: /dev/shm, which is in memory, where it exists]
    #[arg(long, value_name = "FOLDER")]
    witness_folder: Option<PathBuf>,
}

#[derive(Serialize)]
struct Report {
    rates: Vec<Rates>,
    cosigned: Vec<CosignedRate>,
    long: Option<Long>,
}

/// One store and one set of accounts: charges a second by the ledger and by the bare loops.
#[derive(Serialize)]
struct Rates {
    store: &'static str,
    accounts: usize,
    bare_one: f64,
    bare_64: f64,
    /// With a file that is synced after each commit.
    bare_64_with_witness: f64,
    /// With hashes, a witness, and 64 tasks that wait for their answers: what is left to a ledger that decides in no time.
    deciding_nothing: f64,
    callers: Vec<Rate>,
}

#[derive(Serialize)]
struct Rate {
    callers: Callers,
    per_second: f64,
    per_commit: f64,
    to_bare_64: f64,
    to_bare_one: f64,
}

/// A ledger with many charges.
#[derive(Serialize)]
struct Long {
    charges: u64,
    first_per_second: f64,
    last_per_second: f64,
    /// With random keys instead of rising ones, after all these charges.
    random_keys_to_rising: f64,
    open_milliseconds: f64,
    verify_seconds: f64,
    accounts: usize,
    bytes_per_account: f64,
    open_many_accounts_milliseconds: f64,
}

const CALLERS: [Callers; 6] = [
    Callers::Threads(1),
    Callers::Threads(16),
    Callers::Threads(64),
    Callers::Threads(256),
    Callers::Tasks(64),
    Callers::Tasks(256),
];
const MANY_ACCOUNTS: usize = 10_000;
/// Enough accounts to see what one takes among everything else that a process holds.
const ACCOUNTS_FOR_MEMORY: usize = 50_000;

impl LedgerBench {
    /// Measures, and reports.
    pub fn run(&self) -> Result<(), String> {
        let report = self.measure().map_err(|error| error.to_string())?;
        if self.json {
            println!("{}", serde_json::to_string(&report).map_err(|error| error.to_string())?);
        }
        Ok(())
    }

    fn measure(&self) -> Result<Report, Box<dyn std::error::Error>> {
        let cosigned = cosigned::measure(self.seconds, self.witness_folder.as_deref())?;
        self.print(&cosigned::table(&cosigned));
        let mut rates = Vec::new();
        if self.only_cosigned {
            return Ok(Report { rates, cosigned, long: None });
        }
        for accounts in [1, MANY_ACCOUNTS] {
            let folder = tempfile::tempdir()?;
            let location = Location::File(folder.path().join("taximeter.db"));
            let mut bare = BareSqliteStore::new(folder.path())?;
            rates.push(self.rates("SQLite", &location, folder.path(), accounts, &mut bare)?);
            self.show(&rates[rates.len() - 1]);
        }
        if !self.no_postgres {
            let server = PrivatePostgres::start()?;
            for accounts in [1, MANY_ACCOUNTS] {
                let folder = tempfile::tempdir()?;
                let location = Location::parse(&server.new_database()?)?;
                let mut bare = BarePostgresStore::new(&server.new_database()?)?;
                rates.push(self.rates("PostgreSQL", &location, folder.path(), accounts, &mut bare)?);
                self.show(&rates[rates.len() - 1]);
            }
        }
        let long = if self.no_long { None } else { Some(self.long()?) };
        Ok(Report { rates, cosigned, long })
    }

    fn rates(
        &self,
        store: &'static str,
        location: &Location,
        folder: &Path,
        count: usize,
        bare: &mut (dyn BareStore + Send),
    ) -> Result<Rates, Box<dyn std::error::Error>> {
        let options = Options { create: true, witness: Some(folder.join("witness")), ..Options::default() };
        let ledger = Ledger::open(location, options)?;
        let names = accounts(count)?;
        open_accounts(&ledger, &names)?;
        let asked = ChargePattern::Spread(&names, Keys::Rising);
        // The bytes that the bare loops write are those of real charges.
        charge_for(&ledger, Callers::Threads(64), asked, Duration::from_millis(200))?;
        let sample = Sample::of(&ledger, count)?;
        bare.prepare(&sample)?;
        // In turns, so that whatever else the machine does meets them all.
        let turns = 3;
        let turn = Duration::from_secs_f64(self.seconds / f64::from(turns));
        let (mut one, mut batched, mut witnessed, mut answered) = (0.0, 0.0, 0.0, 0.0);
        let witness = File::create(folder.join("bare-witness"))?;
        let mut callers: Vec<(Callers, f64, f64)> = CALLERS.iter().map(|callers| (*callers, 0.0, 0.0)).collect();
        for _ in 0..turns {
            one += bare.rate(&sample, 1, None, turn)?;
            batched += bare.rate(&sample, 64, None, turn)?;
            witnessed += bare.rate(&sample, 64, Some(&witness), turn)?;
            answered += least::rate(bare, &sample, 64, &witness, turn)?;
            for (callers, rate, commits) in &mut callers {
                let done = charge_for(&ledger, *callers, asked, turn)?;
                *rate += done.per_second;
                *commits += done.per_commit;
            }
        }
        let mean = |sum: f64| sum / f64::from(turns);
        let (bare_one, bare_64) = (mean(one), mean(batched));
        let (bare_64_with_witness, deciding_nothing) = (mean(witnessed), mean(answered));
        let callers = callers
            .into_iter()
            .map(|(callers, rate, commits)| Rate {
                callers,
                per_second: mean(rate),
                per_commit: mean(commits),
                to_bare_64: mean(rate) / bare_64,
                to_bare_one: mean(rate) / bare_one,
            })
            .collect();
        Ok(Rates { store, accounts: count, bare_one, bare_64, bare_64_with_witness, deciding_nothing, callers })
    }

    fn show(&self, rates: &Rates) {
        let mut table = PrintedTable::new([
            TableColumn::Text("who"),
            TableColumn::Number("charges/s"),
            TableColumn::Number("a commit"),
            TableColumn::Number("÷ bare 64"),
            TableColumn::Number("÷ bare 1"),
        ]);
        let number = |value: f64| format!("{value:.0}");
        let ratio = |value: f64| format!("{value:.2}");
        for (who, rate, batch) in [
            ("bare loop, 1 a commit", rates.bare_one, 1.0),
            ("bare loop, 64 a commit", rates.bare_64, 64.0),
            ("  and a witness", rates.bare_64_with_witness, 64.0),
            ("no decisions, 64 tasks", rates.deciding_nothing, 64.0),
        ] {
            table.row([
                who.to_string(),
                number(rate),
                number(batch),
                ratio(rate / rates.bare_64),
                ratio(rate / rates.bare_one),
            ]);
        }
        for rate in &rates.callers {
            table.row([
                format!("ledger, {}", rate.callers),
                number(rate.per_second),
                number(rate.per_commit),
                ratio(rate.to_bare_64),
                ratio(rate.to_bare_one),
            ]);
        }
        self.print(&format!("{}, accounts: {}\n{table}", rates.store, rates.accounts));
    }

    fn print(&self, text: &str) {
        if self.json { eprintln!("{text}") } else { println!("{text}") }
    }

    /// A ledger with many charges, and one with many accounts.
    fn long(&self) -> Result<Long, Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let location = Location::File(folder.path().join("long.db"));
        let options = || Options { create: true, ..Options::default() };
        let ledger = Ledger::open(&location, options())?;
        let names = accounts(100)?;
        open_accounts(&ledger, &names)?;
        let part = self.charges / 10;
        let mut parts = Vec::new();
        for _ in 0..10 {
            parts.push(charge_so_many(&ledger, Callers::Tasks(64), &names, part)?);
        }
        let turn = Duration::from_secs_f64(self.seconds);
        let rate = |keys| charge_for(&ledger, Callers::Tasks(64), ChargePattern::Spread(&names, keys), turn);
        let (rising, random) = (rate(Keys::Rising)?.per_second, rate(Keys::Random)?.per_second);
        drop(ledger);
        let started = Instant::now();
        drop(Ledger::open(&location, options())?);
        let open = started.elapsed();
        let started = Instant::now();
        verify(&location, None, &mut |_, _| {})?;
        let verified = started.elapsed();

        let many = Location::File(folder.path().join("many.db"));
        let ledger = Ledger::open(&many, options())?;
        open_accounts(&ledger, &accounts(ACCOUNTS_FOR_MEMORY)?)?;
        drop(ledger);
        let before = resident_bytes("self")?;
        let started = Instant::now();
        let reader = LedgerReader::open(&many, None)?;
        let open_many = started.elapsed();
        let bytes = resident_bytes("self")? - before;
        drop(reader);

        let long = Long {
            charges: self.charges,
            first_per_second: parts[0],
            last_per_second: parts[9],
            random_keys_to_rising: random / rising,
            open_milliseconds: open.as_secs_f64() * 1e3,
            verify_seconds: verified.as_secs_f64(),
            accounts: ACCOUNTS_FOR_MEMORY,
            bytes_per_account: bytes / ACCOUNTS_FOR_MEMORY as f64,
            open_many_accounts_milliseconds: open_many.as_secs_f64() * 1e3,
        };
        let shown: Vec<String> = parts.iter().map(|rate| format!("{rate:.0}")).collect();
        self.print(&format!(
            "a ledger of {} charges, by 64 tasks on 100 accounts\n  charges/s in each tenth: {}\n  last tenth ÷ first: {:.2}\n  \
             random keys ÷ rising keys, after that: {:.2}\n  opened in {:.0} ms, verified in {:.1} s\n\n\
             a ledger of {} accounts\n  opened in {:.0} ms, {:.0} bytes an account",
            long.charges,
            shown.join(" "),
            long.last_per_second / long.first_per_second,
            long.random_keys_to_rising,
            long.open_milliseconds,
            long.verify_seconds,
            long.accounts,
            long.open_many_accounts_milliseconds,
            long.bytes_per_account
        ));
        Ok(long)
    }
}
