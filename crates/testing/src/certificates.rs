//! Certificates for tests.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};

/// A certificate authority that no machine trusts by default.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    /// Makes an authority with a new key.
    pub fn new() -> Result<Authority, String> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "an authority for tests");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let made = KeyPair::generate().and_then(|key| CertifiedIssuer::self_signed(params, key));
        made.map(Authority).map_err(|error| format!("there is no authority for certificates: {error}"))
    }

    /// The authority's own certificate (PEM).
    pub fn root(&self) -> String {
        self.0.pem()
    }

    /// A certificate for these hosts, and its key (PEM).
    pub fn certificate(&self, hosts: &[&str]) -> Result<(String, String), String> {
        let hosts = hosts.iter().map(ToString::to_string).collect::<Vec<_>>();
        let made = KeyPair::generate().and_then(|key| {
            let certificate = CertificateParams::new(hosts)?.signed_by(&key, &self.0)?;
            Ok((certificate.pem(), key.serialize_pem()))
        });
        made.map_err(|error| format!("there is no certificate: {error}"))
    }
}
