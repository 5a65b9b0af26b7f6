//! The certificate and its key, reloaded when they are renewed.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use taximeter_service::Problem;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::Tls;

/// A certificate in use.
pub(super) struct Certificate {
    files: Tls,
    active: RwLock<ActiveCertificate>,
}

struct ActiveCertificate {
    acceptor: TlsAcceptor,
    /// The files when they were last read.
    stamps: FileStamps,
}

/// The time of change and the length of the two files; `None` for a missing file.
type FileStamps = [Option<(SystemTime, u64)>; 2];

impl Certificate {
    /// Reads the files.
    pub(super) fn read(files: Tls) -> Result<Certificate, Problem> {
        let stamps = stamps(&files);
        let active = RwLock::new(ActiveCertificate { acceptor: acceptor(&files)?, stamps });
        Ok(Certificate { files, active })
    }

    /// The acceptor for the next connection.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        self.active.read().unwrap_or_else(PoisonError::into_inner).acceptor.clone()
    }

    /// Reads the files again if they have changed; returns the result, or `None` without a change. The two files are replaced one after
    /// the other, so a pair that does not match is not tried again until one of them changes.
    pub(super) fn renew(&self) -> Option<Result<(), Problem>> {
        let stamps = stamps(&self.files);
        if stamps == self.active.read().unwrap_or_else(PoisonError::into_inner).stamps {
            return None;
        }
        let read = acceptor(&self.files);
        let mut active = self.active.write().unwrap_or_else(PoisonError::into_inner);
        active.stamps = stamps;
        Some(read.map(|acceptor| active.acceptor = acceptor))
    }
}

fn stamps(files: &Tls) -> FileStamps {
    [&files.certificate, &files.key].map(|path| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    })
}

/// An acceptor for TLS 1.2 and 1.3 with HTTP/1.1.
fn acceptor(tls: &Tls) -> Result<TlsAcceptor, Problem> {
    let Tls { certificate, key } = tls;
    let chain: Result<Vec<CertificateDer<'static>>, pem::Error> =
        CertificateDer::pem_slice_iter(&read("certificate", certificate)?).collect();
    let chain = match chain {
        Ok(chain) if chain.is_empty() => Err(unusable("certificate", certificate, "there is no CERTIFICATE in it")),
        Ok(chain) => Ok(chain),
        Err(error) => Err(unusable("certificate", certificate, &error.to_string())),
    }?;
    let private = PrivateKeyDer::from_pem_slice(&read("key", key)?).map_err(|error| match error {
        pem::Error::NoItemsFound => unusable("key", key, "there is no PRIVATE KEY in it"),
        // The library's message is not shown: it may contain a part of the key.
        _ => unusable("key", key, "it is not PEM"),
    })?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable("certificate", certificate, &error.to_string()))?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(|error| {
            let (certificate, key) = (certificate.display(), key.display());
            Problem::bad_request(format!("the certificate {certificate} and the key {key} do not go together: {error}"))
        })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn read(what: &str, path: &Path) -> Result<Vec<u8>, Problem> {
    std::fs::read(path).map_err(|error| unusable(what, path, &error.to_string()))
}

fn unusable(what: &str, path: &Path, why: &str) -> Problem {
    Problem::bad_request(format!("the {what} {} cannot be used: {why}; it must be a file in PEM", path.display()))
}
