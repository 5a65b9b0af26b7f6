//! Keys in files, who signs checkpoints, and the witnesses on other machines that cosign them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use taximeter_ledger::files::private;
use taximeter_ledger::{Cosigner, Signing};
use taximeter_transparency::{KeyUse, PublicKey, SecretKey, Trust, TrustedKey};

use crate::backend::witness_requests;
use crate::config::variable;
use crate::output::{Failure, in_flag, usage};

/// Who signs checkpoints of the ledger, and who cosigns them.
#[derive(Args, Default)]
#[command(next_help_heading = "Checkpoints")]
pub struct SigningArgs {
    /// A key that signs checkpoints, from `checkpoint key create` (may be repeated) [default: $TAXIMETER_CHECKPOINT_KEY]
    #[arg(long = "checkpoint-key", value_name = "FILE")]
    keys: Vec<PathBuf>,
    /// A witness on another machine and its public key (may be repeated) [default: $TAXIMETER_COSIGNERS, separated by spaces]
    #[arg(long = "cosigner", value_name = "URL=KEY")]
    cosigners: Vec<String>,
    /// How many witnesses must have cosigned a charge before it is acknowledged [default: $TAXIMETER_REQUIRE_COSIGNATURES, or all]
    #[arg(long, value_name = "NUMBER")]
    require_cosignatures: Option<usize>,
}

impl SigningArgs {
    /// The keys and witnesses, if any are named here or in the environment.
    pub fn signing(&self) -> Result<Option<Arc<Signing>>, Failure> {
        let keys = match (self.keys.is_empty(), variable("TAXIMETER_CHECKPOINT_KEY")) {
            (true, Some(path)) => vec![PathBuf::from(path)],
            _ => self.keys.clone(),
        };
        let text = |name: &str| variable(name).map(|value| value.to_string_lossy().into_owned());
        let cosigners = match (self.cosigners.is_empty(), text("TAXIMETER_COSIGNERS")) {
            (true, Some(list)) => list.split_whitespace().map(str::to_string).collect(),
            _ => self.cosigners.clone(),
        };
        if keys.is_empty() && cosigners.is_empty() {
            return Ok(None);
        }
        if keys.is_empty() {
            return Err(usage("--cosigner needs a --checkpoint-key: witnesses cosign what the ledger has signed"));
        }
        let signers = keys.iter().map(|path| read_key(path)).collect::<Result<Vec<_>, _>>()?;
        let cosigners = cosigners.iter().map(|text| cosigner(text)).collect::<Result<Vec<_>, _>>()?;
        let given = match (self.require_cosignatures, text("TAXIMETER_REQUIRE_COSIGNATURES")) {
            (None, Some(text)) => Some(text.trim().parse().map_err(in_flag("TAXIMETER_REQUIRE_COSIGNATURES"))?),
            (given, _) => given,
        };
        let required = given.unwrap_or(cosigners.len());
        if required > cosigners.len() {
            return Err(usage(format!(
                "--require-cosignatures is {required}, and there are {} witnesses; name more with --cosigner",
                cosigners.len()
            )));
        }
        Ok(Some(Arc::new(Signing { signers, cosigners, required, send: witness_requests()? })))
    }
}

/// A witness, as `URL=KEY`.
fn cosigner(text: &str) -> Result<Cosigner, Failure> {
    let wrong =
        || usage(format!("--cosigner is {text:?}; write URL=KEY, such as https://witness.example.org=NAME+ID+KEY"));
    let (url, key) = text.split_once('=').ok_or_else(wrong)?;
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return Err(wrong());
    }
    let key = witness_key(key)?;
    Ok(Cosigner { url: url.trim_end_matches('/').to_string(), key })
}

/// The public key of a witness.
fn witness_key(text: &str) -> Result<PublicKey, Failure> {
    let key = PublicKey::parse(text).map_err(in_flag("--cosigner"))?;
    match key.key_use() {
        KeyUse::Cosign => Ok(key),
        KeyUse::Sign => Err(usage(format!("--cosigner: {key} is the key of a ledger's signer, not of a witness"))),
    }
}

/// Reads a secret key, from a file that its owner alone may read.
pub fn read_key(path: &Path) -> Result<SecretKey, Failure> {
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|error| usage(format!("the key {shown} cannot be read: {error}")))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(path).map(|metadata| metadata.permissions().mode())?;
        if mode & 0o077 != 0 {
            return Err(usage(format!(
                "the key {shown} can be read by others; `chmod 600 {shown}`, or make a new one"
            )));
        }
    }
    SecretKey::parse(&text).map_err(|error| usage(format!("{shown}: {error}")))
}

/// Writes a new secret key into a new file.
pub fn write_key(path: &Path, key: &SecretKey) -> Result<(), Failure> {
    let write = || {
        let mut file = private().create_new(true).open(path)?;
        file.write_all(key.to_text().as_bytes())?;
        file.sync_all()
    };
    write().map_err(|error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => usage(format!("{} is there already; name a new file", path.display())),
        _ => Failure::Other(format!("the key cannot be written to {}: {error}", path.display())),
    })
}

/// Whose signatures a checkpoint needs, for those who check one.
#[derive(Args)]
#[command(next_help_heading = "Whose signatures count")]
pub struct TrustArgs {
    /// A public key that signs the ledger's checkpoints, or KEY@FROM..UNTIL for one that is valid for these records (may be repeated)
    #[arg(long = "signer", value_name = "KEY", required = true)]
    signers: Vec<String>,
    /// The public key of a witness that must have cosigned (may be repeated)
    #[arg(long = "cosigner", value_name = "KEY")]
    cosigners: Vec<String>,
    /// How many of these witnesses must have cosigned [default: all]
    #[arg(long, value_name = "NUMBER")]
    require_cosignatures: Option<usize>,
}

impl TrustArgs {
    pub fn trust(&self) -> Result<Trust, Failure> {
        let signers = trusted_keys(&self.signers)?;
        let cosigners = self.cosigners.iter().map(|key| witness_key(key)).collect::<Result<Vec<_>, _>>()?;
        let required = self.require_cosignatures.unwrap_or(cosigners.len());
        Ok(Trust { signers, cosigners, required })
    }
}

/// Public keys of signers.
pub fn trusted_keys(keys: &[String]) -> Result<Vec<TrustedKey>, Failure> {
    keys.iter().map(|key| TrustedKey::parse(key)).collect::<Result<_, _>>().map_err(in_flag("--signer"))
}

/// A failed check ends with its own exit code.
impl From<taximeter_transparency::ProofError> for Failure {
    fn from(error: taximeter_transparency::ProofError) -> Self {
        match error.is_failed_check() {
            true => Failure::Integrity(error.to_string()),
            false => usage(error.to_string()),
        }
    }
}
