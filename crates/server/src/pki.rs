//! The cluster's own certificates: a CA, the server's certificate, client certificates.
//!
//! Everything is made in memory; whoever keeps a data directory writes the PEM texts there and
//! hands them back at the next start.

use std::net::IpAddr;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, DnValue,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType,
};

/// Days a CA is valid: it should outlive the cluster.
const CA_DAYS: i64 = 3650;
/// Days other certificates are valid. They are made anew at each start of the embedded cluster.
const LEAF_DAYS: i64 = 825;

/// What can go wrong with certificates.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A certificate or key could not be made or read.
    #[error("cannot {doing}")]
    Certificate {
        /// What was being done.
        doing: &'static str,
        /// What the certificate library says.
        source: rcgen::Error,
    },
    /// A name cannot be put into a certificate.
    #[error("{0:?} cannot be a host name in a certificate")]
    Host(String),
    /// A client certificate has room for two groups.
    #[error("a client certificate takes at most two groups, not {0}")]
    Groups(usize),
}

fn failed(doing: &'static str) -> impl FnOnce(rcgen::Error) -> Error {
    move |source| Error::Certificate { doing, source }
}

/// A certificate and its key, as PEM text.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// The private key, PKCS 8.
    pub key: String,
}

impl std::fmt::Debug for Identity {
    /// Shows the certificate only: keys do not belong in logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity")
            .field("certificate", &self.certificate)
            .finish_non_exhaustive()
    }
}

/// Makes a P-256 key, as PKCS 8 PEM: what signs service accounts' tokens.
pub fn generate_key() -> Result<String, Error> {
    let key = KeyPair::generate().map_err(failed("make a key"))?;
    Ok(key.serialize_pem())
}

/// A certificate authority that signs for one cluster.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    identity: Identity,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Authority").field(&self.identity).finish()
    }
}

impl Authority {
    /// Makes a new authority.
    pub fn generate(now: jiff::Timestamp) -> Result<Self, Error> {
        let key = KeyPair::generate().map_err(failed("make the key of the authority"))?;
        let mut params = parameters("pernode-ca", &[], now, CA_DAYS);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        let certificate = params
            .self_signed(&key)
            .map_err(failed("sign the certificate of the authority"))?;
        let identity = Identity {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        };
        Ok(Self {
            issuer: Issuer::new(params, key),
            identity,
        })
    }

    /// Reads an authority that was made before.
    pub fn load(identity: Identity) -> Result<Self, Error> {
        let key =
            KeyPair::from_pem(&identity.key).map_err(failed("read the key of the authority"))?;
        let issuer = Issuer::from_ca_cert_pem(&identity.certificate, key)
            .map_err(failed("read the certificate of the authority"))?;
        Ok(Self { issuer, identity })
    }

    /// The authority's own certificate and key.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// A certificate for a server that is reached under these names and addresses.
    pub fn server(&self, hosts: &[String], now: jiff::Timestamp) -> Result<Identity, Error> {
        let mut params = parameters("pernode", &[], now, LEAF_DAYS);
        params.subject_alt_names = hosts
            .iter()
            .map(|host| alt_name(host))
            .collect::<Result<_, _>>()?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(params)
    }

    /// A certificate that authenticates a user: common name and at most two organizations (groups).
    pub fn client(
        &self,
        name: &str,
        groups: &[&str],
        now: jiff::Timestamp,
    ) -> Result<Identity, Error> {
        if groups.len() > 2 {
            return Err(Error::Groups(groups.len()));
        }
        let mut params = parameters(name, groups, now, LEAF_DAYS);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params)
    }

    fn sign(&self, mut params: CertificateParams) -> Result<Identity, Error> {
        let key = KeyPair::generate().map_err(failed("make a key"))?;
        params.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyEncipherment,
        ];
        params.use_authority_key_identifier_extension = true;
        let certificate = params
            .signed_by(&key, &self.issuer)
            .map_err(failed("sign a certificate"))?;
        Ok(Identity {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }
}

fn parameters(name: &str, groups: &[&str], now: jiff::Timestamp, days: i64) -> CertificateParams {
    let mut params = CertificateParams::default();
    let mut subject = DistinguishedName::new();
    // rcgen keeps one value per attribute type. The same attribute under a custom type makes room
    // for a second one, which is as many groups as Kubernetes' own certificates have.
    for (index, group) in groups.iter().enumerate() {
        let kind = if index == 0 {
            DnType::OrganizationName
        } else {
            DnType::CustomDnType(vec![2, 5, 4, 10])
        };
        subject.push(kind, DnValue::Utf8String((*group).to_owned()));
    }
    subject.push(DnType::CommonName, DnValue::Utf8String(name.to_owned()));
    params.distinguished_name = subject;
    // A day back: clocks of clients differ.
    let (year, month, day) = date(now, -1);
    params.not_before = rcgen::date_time_ymd(year, month, day);
    let (year, month, day) = date(now, days);
    params.not_after = rcgen::date_time_ymd(year, month, day);
    params
}

/// Year, month and day relative to today; certificates need no finer grain.
fn date(now: jiff::Timestamp, offset_days: i64) -> (i32, u8, u8) {
    let date = jiff::Timestamp::from_second(now.as_second() + offset_days * 24 * 3600)
        .unwrap_or(now)
        .to_zoned(jiff::tz::TimeZone::UTC)
        .date();
    (
        i32::from(date.year()),
        date.month().unsigned_abs(),
        date.day().unsigned_abs(),
    )
}

fn alt_name(host: &str) -> Result<SanType, Error> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(SanType::IpAddress(address));
    }
    host.to_owned()
        .try_into()
        .map(SanType::DnsName)
        .map_err(|_| Error::Host(host.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> jiff::Timestamp {
        "2026-11-30T12:00:00Z".parse().unwrap()
    }

    #[test]
    fn a_loaded_authority_signs_like_the_first() {
        let first = Authority::generate(now()).unwrap();
        let again = Authority::load(first.identity().clone()).unwrap();
        let identity = again.server(&["localhost".into(), "127.0.0.1".into()], now());
        assert!(identity.unwrap().certificate.contains("BEGIN CERTIFICATE"));
        assert!(!format!("{again:?}").contains("PRIVATE"));
    }

    #[test]
    fn impossible_names_and_groups_are_refused() {
        let authority = Authority::generate(now()).unwrap();
        assert!(matches!(
            authority.server(&["b\u{fc}cher".into()], now()),
            Err(Error::Host(_))
        ));
        assert!(matches!(
            authority.client("u", &["a", "b", "c"], now()),
            Err(Error::Groups(3))
        ));
    }
}
