//! Which certificates of a server are good, if TAXIMETER_CA names some.

use std::process::Output;

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};

use crate::sandbox::{Sandbox, Serving, text};

/// A certificate that someone signed for themselves, as `openssl req -x509` makes it: it says that it is an authority.
fn certificate(name: &str, last_year: i32) -> (String, String) {
    let mut params = CertificateParams::new([name.to_string()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(last_year, 12, 31);
    let key = KeyPair::generate().unwrap();
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

/// Asks a server that shows a certificate, with another or the same one in TAXIMETER_CA.
fn ask(shown: &(String, String), trusted: &str) -> Output {
    let sandbox = Sandbox::with_accounts();
    for (file, pem) in [("server.pem", shown.0.as_str()), ("server.key", &shown.1), ("ca.pem", trusted)] {
        std::fs::write(sandbox.path(file), pem).unwrap();
    }
    let token = sandbox.token("olga", "owner", &[]);
    let serving = Serving::start(&sandbox, &["--tls-cert", "server.pem", "--tls-key", "server.key"]);
    let url = format!("https://localhost:{}", serving.address.port());
    let mut command = sandbox.command(&["account", "list", "--server", &url]);
    command.env("TAXIMETER_TOKEN", token).env("TAXIMETER_CA", "ca.pem").output().unwrap()
}

#[track_caller]
fn check_distrusted(output: &Output, why: &str) {
    assert_eq!(output.status.code(), Some(1), "{}", text(output));
    assert!(text(output).contains("cannot be trusted") && text(output).contains(why), "{why}: {}", text(output));
}

#[test]
fn a_certificate_that_is_in_the_file_is_good_though_it_says_that_it_is_an_authority() {
    let own = certificate("localhost", 4000);
    let output = ask(&own, &own.0);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(text(&output).contains("alice  (0.5, 1e-6)"), "{}", text(&output));
    // Also among others.
    let several = [certificate("other.example", 4000).0, own.0.clone()].concat();
    assert_eq!(ask(&own, &several).status.code(), Some(0));
}

#[test]
fn a_certificate_of_another_name_of_the_past_or_not_in_the_file_is_refused() {
    let other = certificate("other.example", 4000);
    check_distrusted(&ask(&other, &other.0), "not valid for name");
    let old = certificate("localhost", 2021);
    check_distrusted(&ask(&old, &old.0), "expired");
    // The same name, made by someone else.
    let (own, foreign) = (certificate("localhost", 4000), certificate("localhost", 4000));
    check_distrusted(&ask(&foreign, &own.0), "");
}

#[test]
fn an_authority_vouches_for_a_certificate_that_is_not_in_the_file() {
    let key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root = authority.self_signed(&key).unwrap().pem();
    let issuer = rcgen::Issuer::new(authority, key);
    let own = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(["localhost".to_string()]).unwrap().signed_by(&own, &issuer).unwrap();
    let output = ask(&(leaf.pem(), own.serialize_pem()), &root);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
}
