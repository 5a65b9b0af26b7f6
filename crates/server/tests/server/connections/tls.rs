//! Encrypted connections.

use super::*;

/// A certificate for localhost, in files.
fn certificate(folder: &TempDir) -> (Tls, rustls::pki_types::CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_string()]).unwrap();
    let tls = Tls { certificate: folder.path().join("server.pem"), key: folder.path().join("server.key") };
    std::fs::write(&tls.certificate, made.cert.pem()).unwrap();
    std::fs::write(&tls.key, made.signing_key.serialize_pem()).unwrap();
    (tls, made.cert.der().clone())
}

/// A client that trusts this certificate and no other.
fn trusting(certificate: rustls::pki_types::CertificateDer<'static>) -> Arc<rustls::ClientConfig> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).unwrap();
    let config = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
}

#[test]
fn a_renewed_certificate_is_used_without_a_restart() {
    let mut trusted = None;
    let server = ListeningServer::start_with(patient(), |folder| {
        let (tls, der) = certificate(folder);
        trusted = Some(der);
        Some(tls)
    });
    let old = trusting(trusted.unwrap());
    check_answer(&server.ask_encrypted(&old).unwrap(), 200, "\"accounts\":[]");
    // Existing connections stay open.
    let mut open = server.encrypted(&old);
    open.write_all(server.head("GET", "").as_bytes()).unwrap();
    let mut first = [0; 15];
    open.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200 OK");

    // The new certificate does not match the old key yet: the old one stays in use.
    let next = tempfile::tempdir().unwrap();
    let (tls, der) = certificate(&next);
    let place = |file: &std::path::Path| server.folder.path().join(file.file_name().unwrap());
    std::fs::copy(&tls.certificate, place(&tls.certificate)).unwrap();
    server.wait_for_log("certificate-not-renewed");
    check_answer(&server.ask_encrypted(&old).unwrap(), 200, "\"accounts\":[]");

    std::fs::copy(&tls.key, place(&tls.key)).unwrap();
    server.wait_for_log("\"certificate-renewed\"");
    check_answer(&server.ask_encrypted(&trusting(der)).unwrap(), 200, "\"accounts\":[]");
    assert!(server.ask_encrypted(&old).is_err(), "the old certificate is no longer shown");
    open.write_all(server.head("GET", "Connection: close\r\n").as_bytes()).unwrap();
    assert!(rest(&mut open).contains("HTTP/1.1 200 OK"), "a second answer on the connection from before");

    // A missing file changes nothing.
    std::fs::remove_file(place(&tls.key)).unwrap();
    server.wait_for_log("server.key cannot be used");
    let page = server.end();
    assert_eq!(page.matches("\"certificate-renewed\"").count(), 1, "{page}");
}

#[test]
fn an_encrypted_server_answers_only_encrypted_connections() {
    let mut trusted = None;
    let server = ListeningServer::start_with(patient(), |folder| {
        let (tls, der) = certificate(folder);
        trusted = Some(der);
        Some(tls)
    });
    let config = trusting(trusted.unwrap());
    let ask = || server.ask_encrypted(&config).unwrap();
    check_answer(&ask(), 200, "\"accounts\":[]");
    let mut plain = server.connect();
    plain.write_all(server.head("GET", "").as_bytes()).unwrap();
    assert!(!rest(&mut plain).contains("HTTP"), "there is no answer in the clear");
    check_answer(&ask(), 200, "\"accounts\":[]");
    server.end();

    let hasty = Settings { arrival: Duration::from_millis(400), ..patient() };
    let server = ListeningServer::start_with(hasty, |folder| Some(certificate(folder).0));
    assert_eq!(rest(&mut server.connect()), "", "a silent one is cut off");
    server.end();
}

#[test]
fn an_unusable_certificate_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (good, _) = certificate(&folder);
    let other = tempfile::tempdir().unwrap();
    let (foreign, _) = certificate(&other);
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let missing = folder.path().join("missing.pem");
    let words = file("words.pem", "words");
    let broken = file("broken.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    let runtime = Runtime::new().unwrap();
    for (certificate, key, part) in [
        (&missing, &good.key, "missing.pem"),
        (&good.certificate, &missing, "missing.pem"),
        (&words, &good.key, "no CERTIFICATE"),
        (&good.certificate, &words, "no PRIVATE KEY"),
        (&good.certificate, &good.certificate, "no PRIVATE KEY"),
        (&broken, &good.key, "broken.pem"),
        (&good.certificate, &foreign.key, "do not go together"),
    ] {
        let tls = Tls { certificate: certificate.clone(), key: key.clone() };
        let bound = runtime.block_on(Listener::bind("127.0.0.1:0".parse().unwrap(), Some(tls)));
        let problem = bound.err().unwrap();
        assert!(problem.detail.contains(part), "{part:?} is not in {:?}", problem.detail);
    }
}

#[test]
fn an_encrypted_server_sends_strict_transport_security() {
    for is_encrypted in [true, false] {
        let mut server = ListeningServer::start(Settings { is_encrypted, ..patient() });
        let answer = server.list().to_lowercase();
        assert_eq!(answer.contains("strict-transport-security: max-age=31536000"), is_encrypted, "{answer}");
        server.ask_to_end();
        server.ended();
    }
}
