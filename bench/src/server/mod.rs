//! Charges over HTTP, beside the ledger in the process in the same run; event streams; a server that is killed; two servers on one
//! PostgreSQL.

mod child;
mod comparison;
mod scene;
mod streams;

use std::path::Path;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;
use taximeter_ledger::{AccountName, Ledger, Location, Options};
use taximeter_testing::{LoadCaller, LoadResult, PrivatePostgres, ServerLoad};

pub use self::child::{Serve, Server, owner};
use self::comparison::compare;
use self::scene::Scene;
use self::streams::Streams;
use crate::ledger::load::{Callers, account, accounts, charge_for, open_accounts};

/// The arguments of the benchmark.
#[derive(Args)]
pub struct ServerBench {
    /// One JSON document on standard output; the text goes to standard error
    #[arg(long)]
    json: bool,
    /// Seconds of load on the server, and as many on the ledger in this process
    #[arg(long, default_value_t = 20.0)]
    seconds: f64,
    /// Connections that charge
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Event streams
    #[arg(long, default_value_t = 1000)]
    streams: usize,
    /// How often a server is killed under load
    #[arg(long, default_value_t = 10)]
    kills: u32,
    /// Skip PostgreSQL
    #[arg(long)]
    no_postgres: bool,
}

#[derive(Serialize)]
struct Report {
    rates: Vec<Rates>,
    streams: StreamRates,
    kills: Kills,
    pair: Option<Pair>,
}

/// Charges by a server and by the ledger in this process.
#[derive(Serialize)]
struct Rates {
    store: &'static str,
    scene: Scene,
    connections: usize,
    in_process_per_second: f64,
    per_second: f64,
    to_in_process: f64,
    p50_milliseconds: f64,
    p99_milliseconds: f64,
    charges: usize,
    per_commit: f64,
    mebibytes_after_first_turn: f64,
    mebibytes_at_the_end: f64,
}

#[derive(Serialize)]
struct StreamRates {
    streams: usize,
    per_second_without: f64,
    per_second_with: f64,
    ratio: f64,
    messages_per_stream_and_second: f64,
}

#[derive(Serialize)]
struct Kills {
    kills: u32,
    acknowledged: usize,
    lost: usize,
    doubled: usize,
    unknown: usize,
}

#[derive(Serialize)]
struct Pair {
    acknowledged: usize,
    refused: u64,
    charged: u64,
    lost: usize,
    doubled: usize,
    per_second: f64,
    to_one_server: f64,
}

type Failed = Box<dyn std::error::Error>;

/// How often the two take turns, so that whatever else the machine does meets both.
const TURNS: u32 = 4;

impl ServerBench {
    /// Measures, and reports.
    pub fn run(&self) -> Result<(), String> {
        let report = self.measure().map_err(|error| error.to_string())?;
        if self.json {
            println!("{}", serde_json::to_string(&report).map_err(|error| error.to_string())?);
        }
        Ok(())
    }

    fn measure(&self) -> Result<Report, Failed> {
        let mut rates = Vec::new();
        for scene in Scene::ALL {
            let folder = tempfile::tempdir()?;
            let file = |name: &str| Location::File(folder.path().join(name));
            let places = Places { served: file("taximeter.db"), url: None, own: file("in-process.db") };
            rates.push(self.rates("SQLite", scene, &places, folder.path())?);
        }
        let folder = tempfile::tempdir()?;
        let streams = self.with_streams(folder.path())?;
        let kills = self.kill(folder.path())?;
        let mut pair = None;
        if !self.no_postgres {
            let postgres = PrivatePostgres::start()?;
            for scene in Scene::ALL {
                let (url, folder) = (postgres.new_database()?, tempfile::tempdir()?);
                let own = Location::parse(&postgres.new_database()?)?;
                let places = Places { served: Location::parse(&url)?, url: Some(url), own };
                rates.push(self.rates("PostgreSQL", scene, &places, folder.path())?);
            }
            pair = Some(self.pair(&postgres, rates[rates.len() - 1].per_second)?);
        }
        Ok(Report { rates, streams, kills, pair })
    }

    fn turn(&self) -> Duration {
        Duration::from_secs_f64(self.seconds / f64::from(TURNS))
    }

    fn load(&self, servers: &[&Server], callers: &[LoadCaller<'_>], time: Duration) -> Result<LoadResult, String> {
        let addresses: Vec<_> = servers.iter().map(|server| server.address).collect();
        let until = Instant::now() + time;
        let load = ServerLoad { servers: &addresses, callers, connections: self.connections };
        let done = load.run(&|| Instant::now() < until)?;
        match done.unknown.is_empty() {
            true => Ok(done),
            false => Err(format!("connections broke: {done:?}")),
        }
    }

    /// The same load on the ledger in this process and through the server, in turns.
    fn rates(
        &self,
        store: &'static str,
        scene: Scene,
        Places { served, url, own }: &Places,
        folder: &Path,
    ) -> Result<Rates, Failed> {
        let names = scene.names(self.connections)?;
        let ledger = make(served, folder, &names)?;
        let (token, callers) = (owner(served, &ledger)?, scene.callers(&names, served, &ledger)?);
        let callers: Vec<LoadCaller<'_>> = callers.iter().map(|(token, body)| LoadCaller { token, body }).collect();
        drop(ledger);
        // The ledger in this process is another one in the same kind of store.
        let in_process = folder.join("in-process");
        std::fs::create_dir(&in_process)?;
        let own = make(own, &in_process, &names)?;
        let server = Server::start(served, url.as_deref(), folder)?;
        self.load(&[&server], &callers, Duration::from_millis(500))?;
        let (mut in_process, mut done, mut first, commits) = (0.0, LoadResult::default(), 0.0, server.commits(&token)?);
        for turn in 0..TURNS {
            let tasks = Callers::Tasks(self.connections);
            in_process += charge_for(&own, tasks, scene.asked(&names), self.turn())?.per_second;
            done = done.and(self.load(&[&server], &callers, self.turn())?);
            if turn == 0 {
                first = server.resident_bytes()?;
            }
        }
        let (in_process, milliseconds) =
            (in_process / f64::from(TURNS), |share| done.quantile(share).as_secs_f64() * 1e3);
        let rates = Rates {
            store,
            scene,
            connections: self.connections,
            in_process_per_second: in_process,
            per_second: done.per_second(),
            to_in_process: done.per_second() / in_process,
            p50_milliseconds: milliseconds(0.5),
            p99_milliseconds: milliseconds(0.99),
            charges: done.acknowledged.len(),
            per_commit: done.acknowledged.len() as f64 / (server.commits(&token)? - commits).max(1.0),
            mebibytes_after_first_turn: first / f64::from(1 << 20),
            mebibytes_at_the_end: server.resident_bytes()? / f64::from(1 << 20),
        };
        self.print(&format!(
            "{store}: {}, for {:.0} s\n  in the process  {:.0} charges/s\n  over HTTP       {:.0} \
             charges/s, {:.2} of it (at least 0.5), {:.0} a commit\n  answers         p50 {:.2} ms, p99 {:.2} ms\n  \
             memory          {:.1} MiB after {:.0} charges, {:.1} MiB after {}\n",
            scene.text(self.connections),
            self.seconds,
            rates.in_process_per_second,
            rates.per_second,
            rates.to_in_process,
            rates.per_commit,
            rates.p50_milliseconds,
            rates.p99_milliseconds,
            rates.mebibytes_after_first_turn,
            rates.charges as f64 / f64::from(TURNS),
            rates.mebibytes_at_the_end,
            rates.charges
        ));
        Ok(rates)
    }

    /// The same load with and without open event streams, in turns.
    fn with_streams(&self, folder: &Path) -> Result<StreamRates, Failed> {
        let location = Location::File(folder.join("taximeter.db"));
        let ledger = make(&location, folder, &accounts(1)?)?;
        let token = owner(&location, &ledger)?;
        drop(ledger);
        let server = Server::start(&location, None, folder)?;
        let callers = [LoadCaller { token: &token, body: &charge_of(&account(0)?, "0.00001") }];
        let (mut without, mut with, mut messages) = (LoadResult::default(), LoadResult::default(), 0);
        for _ in 0..TURNS {
            without = without.and(self.load(&[&server], &callers, self.turn())?);
            let streams = Streams::open(server.address, &token, self.streams)?;
            let before = streams.messages();
            with = with.and(self.load(&[&server], &callers, self.turn())?);
            messages += streams.messages() - before;
            streams.close()?;
        }
        let seconds = self.streams as f64 * with.took.as_secs_f64();
        let rates = StreamRates {
            streams: self.streams,
            per_second_without: without.per_second(),
            per_second_with: with.per_second(),
            ratio: with.per_second() / without.per_second(),
            messages_per_stream_and_second: messages as f64 / seconds,
        };
        self.print(&format!(
            "{} event streams\n  without  {:.0} charges/s\n  with     {:.0} charges/s, {:.2} of it (at least 0.9); {:.2} messages a \
             second on each\n",
            rates.streams,
            rates.per_second_without,
            rates.per_second_with,
            rates.ratio,
            rates.messages_per_stream_and_second
        ));
        Ok(rates)
    }

    /// A server that is killed under load, again and again. The connections' own notes are the witness.
    fn kill(&self, folder: &Path) -> Result<Kills, Failed> {
        let folder = folder.join("kills");
        std::fs::create_dir(&folder)?;
        let location = Location::File(folder.join("taximeter.db"));
        let ledger = make(&location, &folder, &accounts(1)?)?;
        let token = owner(&location, &ledger)?;
        drop(ledger);
        let callers = [LoadCaller { token: &token, body: &charge_of(&account(0)?, "0.00001") }];
        let mut all = LoadResult::default();
        for kill in 0..self.kills {
            let server = Server::start(&location, None, &folder)?;
            let addresses = [server.address];
            let load = ServerLoad { servers: &addresses, callers: &callers, connections: self.connections };
            let after = Duration::from_millis(200 + 70 * u64::from(kill));
            let done = std::thread::scope(|scope| {
                scope.spawn(move || {
                    std::thread::sleep(after);
                    server.kill()
                });
                // Every connection ends when the server does.
                load.run(&|| true)
            })?;
            all = all.and(done);
        }
        let (lost, doubled) = compare(&location, &folder, &all)?;
        let kills = Kills {
            kills: self.kills,
            acknowledged: all.acknowledged.len(),
            lost,
            doubled,
            unknown: all.unknown.len(),
        };
        self.print(&format!(
            "killed {} times under load\n  acknowledged {}, of which lost: {lost}, doubled: {doubled}; {} more were asked and not \
             answered\n",
            kills.kills, kills.acknowledged, kills.unknown
        ));
        Ok(kills)
    }

    /// Two servers on one PostgreSQL, under the same load, until the budget is spent and a while longer.
    fn pair(&self, postgres: &PrivatePostgres, one_server: f64) -> Result<Pair, Failed> {
        let TwoServers { location, folders, token, servers } = TwoServers::start(postgres)?;
        // So large that the budget of 100 does not last; refusals go on until the time is over.
        let large = [LoadCaller { token: &token, body: &charge_of(&account(0)?, "0.05") }];
        let done = self.load(&[&servers[0], &servers[1]], &large, self.turn())?;
        drop(servers);
        let TwoServers { token, servers, .. } = &TwoServers::start(postgres)?;
        let small = [LoadCaller { token, body: &charge_of(&account(0)?, "0.00001") }];
        let busy = self.load(&[&servers[0], &servers[1]], &small, self.turn())?.per_second();
        let (lost, doubled) = compare(&location, folders[0].path(), &done)?;
        let charged = ledger_charges(&location, folders[0].path())?;
        let pair = Pair {
            acknowledged: done.acknowledged.len(),
            refused: done.refused,
            charged,
            lost,
            doubled,
            per_second: busy,
            to_one_server: busy / one_server,
        };
        self.print(&format!(
            "two servers on one PostgreSQL, until the budget is spent and longer\n  acknowledged {}, in the ledger {charged}, refused \
             {}, lost: {lost}, doubled: {doubled}\n  with a budget that lasts: {busy:.0} charges/s together, {:.2} of one server\n",
            pair.acknowledged, pair.refused, pair.to_one_server
        ));
        Ok(pair)
    }

    fn print(&self, text: &str) {
        if self.json { eprintln!("{text}") } else { println!("{text}") }
    }
}

/// Two servers on one ledger, each with a folder of its own.
struct TwoServers {
    location: Location,
    folders: [tempfile::TempDir; 2],
    token: String,
    servers: [Server; 2],
}

impl TwoServers {
    fn start(postgres: &PrivatePostgres) -> Result<TwoServers, Failed> {
        let (url, folders) = (postgres.new_database()?, [tempfile::tempdir()?, tempfile::tempdir()?]);
        let location = Location::parse(&url)?;
        let ledger = make(&location, folders[0].path(), &accounts(1)?)?;
        let token = owner(&location, &ledger)?;
        drop(ledger);
        std::fs::copy(folders[0].path().join("witness"), folders[1].path().join("witness"))?;
        let one = Server::start(&location, Some(&url), folders[0].path())?;
        let other = Server::start(&location, Some(&url), folders[1].path())?;
        Ok(TwoServers { location, folders, token, servers: [one, other] })
    }
}

/// Where a ledger is that is served, and one that is used in this process.
struct Places {
    served: Location,
    /// With the password, for a database.
    url: Option<String>,
    own: Location,
}

/// A ledger with more accounts.
fn make(location: &Location, folder: &Path, names: &[AccountName]) -> Result<Ledger, Failed> {
    let options = Options { create: true, witness: Some(folder.join("witness")), ..Options::default() };
    let ledger = Ledger::open(location, options)?;
    open_accounts(&ledger, names)?;
    Ok(ledger)
}

/// A charge as JSON.
fn charge_of(name: &AccountName, epsilon: &str) -> String {
    format!(r#"{{"accounts":["{name}"],"costs":[{{"epsilon":"{epsilon}"}}]}}"#)
}

fn ledger_charges(location: &Location, folder: &Path) -> Result<u64, Failed> {
    Ok(make(location, folder, &[])?.account(&account(0)?)?.charges())
}
