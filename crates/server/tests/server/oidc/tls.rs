//! An issuer behind TLS, and whom the server trusts.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use taximeter_service::Settings;
use taximeter_testing::{Authority, TestIssuer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, crypto};

use super::{OidcServer, person};

/// Encrypts what comes, and passes it on.
async fn encrypt(authority: &Authority, to: SocketAddr) -> SocketAddr {
    let (certificate, key) = authority.certificate(&["localhost"]).unwrap();
    let (certificate, key) =
        (CertificateDer::from_pem_slice(certificate.as_bytes()), PrivateKeyDer::from_pem_slice(key.as_bytes()));
    let config = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.unwrap()], key.unwrap())
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // A client that does not trust the certificate hangs up.
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let mut behind = TcpStream::connect(to).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut stream, &mut behind).await;
            });
        }
    });
    address
}

fn in_file(folder: &Path, authority: &Authority) -> PathBuf {
    let file = folder.join("ca.pem");
    std::fs::write(&file, authority.root()).unwrap();
    file
}

#[tokio::test(flavor = "multi_thread")]
async fn an_issuer_is_trusted_by_the_authorities_that_are_named_and_by_no_others() {
    let [ours, other] = [(); 2].map(|()| Authority::new().unwrap());
    for (trusted, status) in [(Some(&ours), 200), (Some(&other), 503), (None, 503)] {
        let (issuer, folder) = (TestIssuer::default(), tempfile::tempdir().unwrap());
        let behind = issuer.url().strip_prefix("http://").unwrap().parse().unwrap();
        let address = encrypt(&ours, behind).await;
        issuer.call(&format!("https://localhost:{}", address.port()));
        let authorities = trusted.map(|authority| in_file(folder.path(), authority));
        let mut all = OidcServer::of(issuer, Settings::default(), None, authorities);
        let token = all.issuer.token(person("olga", "owners"));
        all.server.give("olga", token);
        let reply = all.server.get("olga", "/v1/me").await;
        assert_eq!(reply.status, status, "{}", reply.text());
    }
}
