//! How a connection is encrypted.

use std::convert::Infallible;
use std::error::Error as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio_postgres::config::SslMode;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{Error, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{self, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::error::SessionError;

/// What a connection must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TlsMode {
    /// No encryption.
    Disable,
    /// Encryption if the server offers it.
    Prefer,
    /// Encryption, without a check of the certificate.
    Require,
    /// Encryption, and a certificate for the host, from an authority in this file or from one that the system trusts.
    VerifyFull(Option<PathBuf>),
}

impl TlsMode {
    pub(crate) fn ssl_mode(&self) -> SslMode {
        match self {
            TlsMode::Disable => SslMode::Disable,
            TlsMode::Prefer => SslMode::Prefer,
            TlsMode::Require | TlsMode::VerifyFull(_) => SslMode::Require,
        }
    }

    /// Reads the roots, and returns what makes connections.
    pub(crate) fn connector(&self) -> Result<Connector, SessionError> {
        let provider = Arc::new(ring::default_provider());
        let cannot = |error: &dyn std::fmt::Display| SessionError::Lost(format!("TLS cannot be used: {error}"));
        let verifier: Arc<dyn ServerCertVerifier> = match self {
            TlsMode::VerifyFull(file) => {
                let roots = Arc::new(file.as_deref().map_or_else(system_roots, roots_of)?);
                WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider))
                    .build()
                    .map_err(|error| cannot(&error))?
            }
            TlsMode::Disable | TlsMode::Prefer | TlsMode::Require => Arc::new(AnyServer(Arc::clone(&provider))),
        };
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| cannot(&error))?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        Ok(Connector { inner: MakeRustlsConnect::new(config), is_declined: Arc::default() })
    }
}

fn roots_of(file: &Path) -> Result<RootCertStore, SessionError> {
    let cannot = |why: String| {
        SessionError::Lost(format!("the roots in {} (sslrootcert) cannot be used: {why}", file.display()))
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| cannot(error.to_string()))? {
        let certificate = certificate.map_err(|error| cannot(error.to_string()))?;
        roots.add(certificate).map_err(|error| cannot(error.to_string()))?;
    }
    match roots.is_empty() {
        true => Err(cannot("there is no certificate in it".to_string())),
        false => Ok(roots),
    }
}

fn system_roots() -> Result<RootCertStore, SessionError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // A system's store may have old certificates that cannot be read; the others count.
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let why = found.errors.first().map(|error| format!(": {error}")).unwrap_or_default();
        let advice = "name a file of roots with sslrootcert, or install the system's (ca-certificates)";
        return Err(SessionError::Lost(format!("the system has no root certificates{why}; {advice}")));
    }
    Ok(roots)
}

/// Makes encrypted connections, and remembers whether the server declined TLS: the library reports that as text only.
#[derive(Clone)]
pub(crate) struct Connector {
    inner: MakeRustlsConnect,
    is_declined: Arc<AtomicBool>,
}

/// One connection.
pub(crate) struct ConnectOnce {
    inner: <MakeRustlsConnect as MakeTlsConnect<Socket>>::TlsConnect,
    is_declined: Arc<AtomicBool>,
}

impl Connector {
    /// Why a connection failed.
    pub(crate) fn explain(&self, error: Error) -> SessionError {
        let io = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
        let tls = io.and_then(io::Error::get_ref).and_then(|cause| cause.downcast_ref::<rustls::Error>());
        if let Some(rustls::Error::InvalidCertificate(why)) = tls {
            return SessionError::Lost(format!(
                "PostgreSQL's certificate is not accepted: {why}; sslmode=verify-full needs one for the host of the URL, from an \
                 authority in the file of sslrootcert or, without one, from an authority that the system trusts"
            ));
        }
        let has_no_answer = error.as_db_error().is_none() && io.is_none();
        if has_no_answer && self.is_declined.load(Ordering::Relaxed) {
            return SessionError::Lost(
                "PostgreSQL does not offer TLS, which is needed unless sslmode=disable is given or it is on this machine; set ssl = \
                 on at the server, or give sslmode=disable where the network can be trusted"
                    .to_string(),
            );
        }
        SessionError::while_connecting(error)
    }
}

impl MakeTlsConnect<Socket> for Connector {
    type Stream = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream;
    type TlsConnect = ConnectOnce;
    type Error = Infallible;

    fn make_tls_connect(&mut self, host: &str) -> Result<ConnectOnce, Infallible> {
        self.is_declined.store(true, Ordering::Relaxed);
        let inner = MakeTlsConnect::<Socket>::make_tls_connect(&mut self.inner, host)?;
        Ok(ConnectOnce { inner, is_declined: Arc::clone(&self.is_declined) })
    }
}

impl TlsConnect<Socket> for ConnectOnce {
    type Stream = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream;
    type Error = io::Error;
    type Future = <<MakeRustlsConnect as MakeTlsConnect<Socket>>::TlsConnect as TlsConnect<Socket>>::Future;

    fn connect(self, stream: Socket) -> Self::Future {
        // It is asked for a handshake only after the server has agreed.
        self.is_declined.store(false, Ordering::Relaxed);
        self.inner.connect(stream)
    }
}

/// Accepts every certificate, as `sslmode=require` does: the connection is encrypted, and the server's identity is not checked.
#[derive(Debug)]
struct AnyServer(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
