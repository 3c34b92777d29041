//! Authentication: who a request comes from.
//!
//! A client certificate (checked by TLS against the cluster's CA) names the user in its subject.
//! A bearer token is either a static one or a service account's. Without either a request is
//! anonymous; a token nobody knows is refused with 401.

pub mod token;

use std::collections::BTreeMap;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use sha2::{Digest as _, Sha256};

use crate::user::User;

/// Static bearer tokens, kept as digests: a comparison of digests tells nothing about a token
/// through its duration, and a memory dump does not show one.
#[derive(Debug, Clone, Default)]
pub struct StaticTokens {
    users: BTreeMap<[u8; 32], User>,
}

impl StaticTokens {
    /// Adds a token for a user.
    #[must_use]
    pub fn with(mut self, token: &str, user: User) -> Self {
        self.users
            .insert(Sha256::digest(token.as_bytes()).into(), user);
        self
    }

    /// The user of a token.
    pub fn user(&self, token: &str) -> Option<&User> {
        let digest: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        // All entries are compared in full, whichever matches.
        let mut found = None;
        for (known, user) in &self.users {
            if same(known, &digest) {
                found = Some(user);
            }
        }
        found
    }
}

/// Compares in constant time.
fn same(a: &[u8; 32], b: &[u8; 32]) -> bool {
    a.iter().zip(b).fold(0, |diff, (x, y)| diff | (x ^ y)) == 0
}

/// The bearer token of a request.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// The user a client certificate names: common name and organizations.
pub(crate) fn certificate_user(der: &[u8]) -> Option<User> {
    let (_, certificate) = x509_parser::parse_x509_certificate(der).ok()?;
    let subject = certificate.subject();
    let name = subject.iter_common_name().next()?.as_str().ok()?;
    let groups = subject
        .iter_organization()
        .filter_map(|group| group.as_str().ok());
    (!name.is_empty()).then(|| User::new(name, groups))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn static_tokens() {
        let tokens = StaticTokens::default().with("secret", User::admin("admin"));
        assert_eq!(tokens.user("secret").unwrap().name, "admin");
        assert_eq!(tokens.user("secre"), None);
        assert!(!format!("{tokens:?}").contains("secret"));
    }

    #[test]
    fn bearer_headers() {
        let check = |value: &str, expected: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, value.parse().unwrap());
            assert_eq!(bearer(&headers), expected, "{value}");
        };
        check("Bearer abc", Some("abc"));
        check("bearer  abc ", Some("abc"));
        check("Basic abc", None);
        check("Bearer ", None);
    }

    #[test]
    fn certificates_name_users() {
        let now = "2026-11-30T12:00:00Z".parse().unwrap();
        let authority = crate::pki::Authority::generate(now).unwrap();
        let identity = authority
            .client("system:node:n1", &["system:nodes", "other"], now)
            .unwrap();
        let pem = x509_parser::pem::parse_x509_pem(identity.certificate.as_bytes())
            .unwrap()
            .1;
        let user = certificate_user(&pem.contents).unwrap();
        assert_eq!(user.name, "system:node:n1");
        assert_eq!(
            user.groups,
            ["system:nodes", "other", "system:authenticated"]
        );
        assert_eq!(user.node(), Some("n1"));
    }
}
