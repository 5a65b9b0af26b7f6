//! The certificate and its key, which are read again when they were renewed.

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
    used: RwLock<Used>,
}

struct Used {
    acceptor: TlsAcceptor,
    /// What the files looked like when they were last read.
    looks: Looks,
}

/// When each of the two files was changed, and its length. One that is not there looks like nothing.
type Looks = [Option<(SystemTime, u64)>; 2];

impl Certificate {
    /// Reads the files.
    pub(super) fn read(files: Tls) -> Result<Certificate, Problem> {
        let looks = looks(&files);
        let used = RwLock::new(Used { acceptor: acceptor(&files)?, looks });
        Ok(Certificate { files, used })
    }

    /// What the next connection is encrypted with.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        self.used.read().unwrap_or_else(PoisonError::into_inner).acceptor.clone()
    }

    /// Reads the files again if they have changed, and says what came of it. The two are replaced one after the other, so what cannot be
    /// used is left alone until one of them changes again.
    pub(super) fn renew(&self) -> Option<Result<(), Problem>> {
        let looks = looks(&self.files);
        if looks == self.used.read().unwrap_or_else(PoisonError::into_inner).looks {
            return None;
        }
        let read = acceptor(&self.files);
        let mut used = self.used.write().unwrap_or_else(PoisonError::into_inner);
        used.looks = looks;
        Some(read.map(|acceptor| used.acceptor = acceptor))
    }
}

fn looks(files: &Tls) -> Looks {
    [&files.certificate, &files.key].map(|path| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    })
}

/// What makes encrypted connections: TLS 1.2 or 1.3, and HTTP/1.1 inside.
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
        // What the library says is not shown: it may have a part of the key in it.
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
