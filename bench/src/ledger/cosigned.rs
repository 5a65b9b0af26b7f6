//! Rates with signed checkpoints, and with a witness over HTTP on this machine that cosigns every batch, beside those without.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use taximeter_ledger::{Cosigner, Ledger, Location, Options, Signing};
use taximeter_server::WitnessListener;
use taximeter_service::witness::CosigningWitness;
use taximeter_transparency::{Checkpoint, KeyUse, PublicKey, SecretKey, TrustedKey};
use tokio::runtime::Runtime;
use ureq::Agent;

use super::load::{Callers, ChargePattern, Keys, accounts, charge_for, open_accounts};
use crate::table::{PrintedTable, TableColumn};

/// Charges a second without, with checkpoints, and with a witness besides.
#[derive(Serialize)]
pub struct CosignedRate {
    callers: Callers,
    plain: f64,
    /// A checkpoint is signed every 100 ms.
    checkpoints: f64,
    cosigned: f64,
}

const CALLERS: [Callers; 4] = [Callers::Threads(1), Callers::Threads(64), Callers::Tasks(64), Callers::Tasks(256)];

/// How often a checkpoint is signed.
const EVERY: Duration = Duration::from_millis(100);

/// Measures three ledgers of the same kind in turns, so that whatever else the machine does meets them all.
pub fn measure(seconds: f64) -> Result<Vec<CosignedRate>, Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let names = accounts(100)?;
    let make = |name: &str| -> Result<(Location, SecretKey), Box<dyn std::error::Error>> {
        let location = Location::File(folder.path().join(name));
        let ledger = Ledger::open(&location, Options { create: true, ..Options::default() })?;
        open_accounts(&ledger, &names)?;
        Ok((location, SecretKey::generate(&Checkpoint::origin_of(&ledger.id().to_string()), KeyUse::Sign)?))
    };
    let (plain, _) = make("plain.db")?;
    let (signed, key) = make("signed.db")?;
    let (cosigned, cosigned_key) = make("cosigned.db")?;
    let runtime = Runtime::new()?;
    let (url, witness) = start_witness(&runtime, folder.path(), cosigned_key.public())?;
    let agent: Agent = Agent::config_builder().http_status_as_error(false).build().into();
    let send = move |url: &str, body: &str, patience: Duration| {
        let request = agent.post(url).config().timeout_global(Some(patience)).build();
        let mut response = request.send(body).map_err(|error| error.to_string())?;
        let text = response.body_mut().read_to_string().map_err(|error| error.to_string())?;
        Ok((response.status().as_u16(), text))
    };
    let nowhere = Box::new(|_: &str, _: &str, _: Duration| Err("there is no witness".to_string()));
    let alone = Signing { signers: vec![key], cosigners: Vec::new(), required: 0, send: nowhere };
    let cosigners = vec![Cosigner { url, key: witness }];
    let both = Signing { signers: vec![cosigned_key], cosigners, required: 1, send: Box::new(send) };
    let open = |location: &Location, signing: Option<Signing>| {
        Ledger::open(location, Options { signing: signing.map(Arc::new), ..Options::default() })
    };
    let ledgers = [open(&plain, None)?, open(&signed, Some(alone))?, open(&cosigned, Some(both))?];
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
        let mut rates = CALLERS.map(|callers| (callers, [0.0; 3]));
        let measured = (|| {
            for _ in 0..turns {
                for (callers, rates) in &mut rates {
                    for (ledger, rate) in ledgers.iter().zip(rates) {
                        let asked = ChargePattern::Spread(&names, Keys::Rising);
                        *rate += charge_for(ledger, *callers, asked, turn)?.per_second / f64::from(turns);
                    }
                }
            }
            Ok(())
        })();
        is_over.store(true, Ordering::Relaxed);
        measured.map(|()| {
            let rate = |(callers, rates): (Callers, [f64; 3])| {
                let [plain, checkpoints, cosigned] = rates;
                CosignedRate { callers, plain, checkpoints, cosigned }
            };
            rates.into_iter().map(rate).collect()
        })
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
    ]);
    for CosignedRate { callers, plain, checkpoints, cosigned } in rates {
        let ratio = |rate: f64| format!("{:.2}", rate / plain);
        table.row([callers.to_string(), format!("{plain:.0}"), ratio(*checkpoints), ratio(*cosigned)]);
    }
    format!(
        "SQLite, 100 accounts: a checkpoint every 100 ms, and a witness over HTTP that cosigns every batch\n{table}"
    )
}
