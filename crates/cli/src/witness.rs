//! `taximeter witness`: a witness for ledgers on other machines.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use jiff::Timestamp;
use taximeter_server::{WitnessListener, runtime};
use taximeter_service::witness::CosigningWitness;
use taximeter_transparency::{KeyUse, SecretKey};

use crate::output::{Failure, print_line, tell, usage};
use crate::serve::first_signal;
use crate::signing::{read_key, trusted_keys, write_key};

/// Cosign the checkpoints of ledgers on other machines, so that old copies are detected
#[derive(Subcommand)]
pub enum WitnessCommand {
    /// Make a witness's key and state file, or show its public key
    #[command(subcommand)]
    Key(WitnessKeyCommand),
    Serve(WitnessServeArgs),
}

/// Make a witness's key and state file, or show its public key
#[derive(Subcommand)]
pub enum WitnessKeyCommand {
    /// Make a key and an empty state file, and print the public key
    ///
    /// Both belong together permanently: a witness that lost its state file needs a new key.
    #[command(
        after_help = "Example: taximeter witness key create witness.key --name witness.example.org --state witness.state"
    )]
    Create {
        /// The file of the key, readable by its owner alone
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The name of the witness
        #[arg(long, value_name = "NAME")]
        name: String,
        /// Its state file: the newest checkpoint of each ledger
        #[arg(long, value_name = "FILE")]
        state: PathBuf,
    },
    /// Print the public key
    #[command(after_help = "Example: taximeter witness key show witness.key")]
    Show {
        /// The file of the key
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

/// Cosign checkpoints over HTTP
///
/// It cosigns a checkpoint only if it extends the last one that it cosigned for the same ledger, and writes that to disk before it answers.
/// Run it on another machine than the ledger, under another owner. Nothing secret is sent and everything is signed, so HTTP is enough; put
/// a proxy in front of it for HTTPS. Ledgers that went back or forked are reported on standard error.
#[derive(Args)]
#[command(after_help = "\
Example:
  taximeter witness serve --listen 0.0.0.0:7071 --key witness.key --state witness.state --signer 'taximeter/…+1a2b3c4d+…'")]
pub struct WitnessServeArgs {
    /// The address to listen on
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7071")]
    listen: SocketAddr,
    /// The key of the witness
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// The state file of the witness
    #[arg(long, value_name = "FILE")]
    state: PathBuf,
    /// A public key that signs a ledger's checkpoints, or KEY@FROM..UNTIL for one that is valid for these records (may be repeated)
    #[arg(long = "signer", value_name = "KEY", required = true)]
    signers: Vec<String>,
    /// A proxy on another machine stands for all ledgers: do not limit the connections from one machine to a quarter of all
    #[arg(long)]
    behind_proxy: bool,
}

impl WitnessCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        match self {
            WitnessCommand::Key(WitnessKeyCommand::Create { file, name, state }) => {
                if state.exists() {
                    return Err(usage(format!("{} is there already; name a new state file", state.display())));
                }
                let key = SecretKey::generate(name, KeyUse::Cosign)?;
                write_key(file, &key)?;
                CosigningWitness::create(state, key.public())?;
                print_line(&key.public().to_string())?;
            }
            WitnessCommand::Key(WitnessKeyCommand::Show { file }) => {
                print_line(&read_key(file)?.public().to_string())?;
            }
            WitnessCommand::Serve(args) => args.run()?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl WitnessServeArgs {
    fn run(&self) -> Result<(), Failure> {
        let witness = CosigningWitness::open(read_key(&self.key)?, &self.state, trusted_keys(&self.signers)?)?;
        let runtime =
            runtime().map_err(|error| Failure::Other(format!("the witness cannot start its threads: {error}")))?;
        let listener = runtime.block_on(WitnessListener::bind(self.listen))?.behind_proxy(self.behind_proxy);
        let inside = runtime.enter();
        let end = first_signal()?;
        drop(inside);
        tell(&format!("listening on http://{}", listener.address()));
        Ok(runtime.block_on(listener.serve(witness, now, end, tell))?)
    }
}

/// The time, in seconds since 1970.
fn now() -> u64 {
    u64::try_from(Timestamp::now().as_second()).unwrap_or(0)
}
