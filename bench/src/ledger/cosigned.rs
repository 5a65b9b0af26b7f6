//! Rates with signed checkpoints, and with a witness over HTTP on this machine that cosigns every batch, beside those without.
//!
//! One witness has its memory on the ledger's disk, so that two syncs compete for it. Another has it in a folder that is kept in memory;
//! it stands for a witness whose disk is its own. Both take their share of this machine's cores.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use taximeter_ledger::{Cosigner, Ledger, Location, Options, SendRequest, Signing};
use taximeter_server::{WitnessListener, runtime};
use taximeter_service::witness::{CosigningWitness, request_sender};
use taximeter_transparency::{Checkpoint, KeyUse, PublicKey, SecretKey, TrustedKey};
use tokio::runtime::Runtime;
use ureq::Agent;
use ureq::unversioned::transport::DefaultConnector;

use super::load::{Callers, ChargePattern, Keys, accounts, charge_for, open_accounts};
use crate::table::{PrintedTable, TableColumn};

/// Charges a second without, with checkpoints, and with a witness besides.
#[derive(Serialize)]
pub struct CosignedRate {
    callers: Callers,
    plain: f64,
    /// A checkpoint is signed every 100 ms.
    checkpoints: f64,
    /// The witness's memory is on the ledger's disk.
    cosigned: f64,
    /// It is in a folder of its own.
    cosigned_apart: f64,
    /// How long a request to the witness takes.
    request_microseconds: f64,
    request_apart_microseconds: f64,
    /// Charges in a batch that is cosigned.
    batch: f64,
}

const CALLERS: [Callers; 4] = [Callers::Threads(1), Callers::Threads(64), Callers::Tasks(64), Callers::Tasks(256)];

/// How often a checkpoint is signed.
const EVERY: Duration = Duration::from_millis(100);

/// Where the other witness has its memory unless another folder is named: in memory on Linux.
const IN_MEMORY: &str = "/dev/shm";

/// The requests to a witness, and how long they took.
#[derive(Default)]
struct RequestClock {
    requests: AtomicU64,
    nanoseconds: AtomicU64,
}

impl RequestClock {
    /// How many microseconds a request took since this was asked last.
    fn take(&self) -> f64 {
        let (count, sum) = (self.requests.swap(0, Ordering::Relaxed), self.nanoseconds.swap(0, Ordering::Relaxed));
        sum as f64 / 1e3 / count.max(1) as f64
    }
}

/// Measures four ledgers of the same kind in turns, so that whatever else the machine does meets them all.
pub fn measure(seconds: f64, apart: Option<&Path>) -> Result<Vec<CosignedRate>, Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let in_memory = PathBuf::from(IN_MEMORY);
    let elsewhere = match apart {
        Some(path) => tempfile::tempdir_in(path)?,
        None if in_memory.is_dir() => tempfile::tempdir_in(in_memory)?,
        None => tempfile::tempdir()?,
    };
    let names = accounts(100)?;
    let make = |name: &str| -> Result<(Location, SecretKey), Box<dyn std::error::Error>> {
        let location = Location::File(folder.path().join(name));
        let ledger = Ledger::open(&location, Options { create: true, ..Options::default() })?;
        open_accounts(&ledger, &names)?;
        Ok((location, SecretKey::generate(&Checkpoint::origin_of(&ledger.id().to_string()), KeyUse::Sign)?))
    };
    let open = |location: &Location, signing: Option<Signing>| {
        Ledger::open(location, Options { signing: signing.map(Arc::new), ..Options::default() })
    };
    let runtime = runtime()?;
    let cosigned = |name: &str, folder: &Path| -> Result<(Ledger, Arc<RequestClock>), Box<dyn std::error::Error>> {
        let (location, key) = make(name)?;
        let (url, witness) = start_witness(&runtime, folder, key.public())?;
        let clock = Arc::new(RequestClock::default());
        let cosigners = vec![Cosigner { url, key: witness }];
        let signing = Signing { signers: vec![key], cosigners, required: 1, send: timed(Arc::clone(&clock)) };
        Ok((open(&location, Some(signing))?, clock))
    };
    let (plain, _) = make("plain.db")?;
    let (signed, key) = make("signed.db")?;
    let nowhere = Box::new(|_: &str, _: &str, _: Duration| Err("there is no witness".to_string()));
    let alone = Signing { signers: vec![key], cosigners: Vec::new(), required: 0, send: nowhere };
    let (beside, beside_clock) = cosigned("cosigned.db", folder.path())?;
    let (distant, distant_clock) = cosigned("cosigned-apart.db", elsewhere.path())?;
    let ledgers = [open(&plain, None)?, open(&signed, Some(alone))?, beside, distant];
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                // What goes wrong here shows in no rate; a checkpoint that cannot be signed is an error of the tests.
                let _ = ledgers[1].checkpoint();
                thread::sleep(EVERY);
            }
        });
        let turns = 3;
        let turn = Duration::from_secs_f64(seconds / f64::from(turns));
        // Charges a second of each ledger, the requests of the last two, and their batches.
        let mut rates = CALLERS.map(|callers| (callers, [0.0; 4], [0.0; 2], 0.0));
        let measured = (|| {
            for _ in 0..turns {
                for (callers, rates, requests, batch) in &mut rates {
                    for (ledger, rate) in ledgers.iter().zip(rates) {
                        let asked = ChargePattern::Spread(&names, Keys::Rising);
                        let done = charge_for(ledger, *callers, asked, turn)?;
                        *rate += done.per_second / f64::from(turns);
                        if ledger.cosigned_checkpoint().is_some() {
                            *batch += done.per_commit / f64::from(2 * turns);
                        }
                    }
                    for (time, clock) in requests.iter_mut().zip([&beside_clock, &distant_clock]) {
                        *time += clock.take() / f64::from(turns);
                    }
                }
            }
            Ok(())
        })();
        is_over.store(true, Ordering::Relaxed);
        measured.map(|()| {
            let rate = |(callers, rates, requests, batch): (Callers, [f64; 4], [f64; 2], f64)| {
                let [plain, checkpoints, cosigned, cosigned_apart] = rates;
                let [request_microseconds, request_apart_microseconds] = requests;
                CosignedRate {
                    callers,
                    plain,
                    checkpoints,
                    cosigned,
                    cosigned_apart,
                    request_microseconds,
                    request_apart_microseconds,
                    batch,
                }
            };
            rates.into_iter().map(rate).collect()
        })
    })
}

/// Sends requests over connections that stay open, as the command line does, and takes the time.
fn timed(clock: Arc<RequestClock>) -> SendRequest {
    let config = Agent::config_builder().http_status_as_error(false).build();
    let send = request_sender(config, DefaultConnector::default());
    Box::new(move |url: &str, body: &str, patience: Duration| {
        let started = Instant::now();
        let answer = send(url, body, patience)?;
        clock.requests.fetch_add(1, Ordering::Relaxed);
        clock.nanoseconds.fetch_add(started.elapsed().as_nanos() as u64, Ordering::Relaxed);
        Ok(answer)
    })
}

/// A witness over HTTP: its URL and its public key.
fn start_witness(
    runtime: &Runtime,
    folder: &Path,
    signer: &PublicKey,
) -> Result<(String, PublicKey), Box<dyn std::error::Error>> {
    let key = SecretKey::generate("witness.example", KeyUse::Cosign)?;
    let (state, public) = (folder.join("witness.state"), key.public().clone());
    let failed = |problem: taximeter_service::Problem| problem.to_string();
    CosigningWitness::create(&state, &public).map_err(failed)?;
    let signers = vec![TrustedKey::parse(&signer.to_string())?];
    let witness = CosigningWitness::open(key, &state, signers).map_err(failed)?;
    let listener = WitnessListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    let listener = runtime.block_on(listener).map_err(failed)?;
    let url = format!("http://{}", listener.address());
    runtime.spawn(async move { listener.serve(witness, || 0, std::future::pending(), |_| {}).await.map_err(failed) });
    Ok((url, public))
}

/// The rates as a table.
pub fn table(rates: &[CosignedRate]) -> String {
    let mut table = PrintedTable::new([
        TableColumn::Text("who"),
        TableColumn::Number("plain/s"),
        TableColumn::Number("checkpoints ÷ plain"),
        TableColumn::Number("cosigned ÷ plain"),
        TableColumn::Number("  apart"),
        TableColumn::Number("a request, µs"),
        TableColumn::Number("  apart"),
        TableColumn::Number("a batch"),
    ]);
    for rate in rates {
        let ratio = |cosigned: f64| format!("{:.2}", cosigned / rate.plain);
        table.row([
            rate.callers.to_string(),
            format!("{:.0}", rate.plain),
            ratio(rate.checkpoints),
            ratio(rate.cosigned),
            ratio(rate.cosigned_apart),
            format!("{:.0}", rate.request_microseconds),
            format!("{:.0}", rate.request_apart_microseconds),
            format!("{:.0}", rate.batch),
        ]);
    }
    format!(
        "SQLite, 100 accounts: a checkpoint every 100 ms, and a witness over HTTP on this machine that cosigns every batch.\n\
         Its memory is on the ledger's disk, or apart from it\n{table}"
    )
}
