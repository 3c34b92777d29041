//! Service accounts' tokens: JSON Web Tokens signed with ES256.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use jiff::Timestamp;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _,
    UnparsedPublicKey,
};
use rustls_pki_types::PrivatePkcs8KeyDer;
use rustls_pki_types::pem::PemObject as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The issuer of the tokens, which is also their default audience.
pub const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

/// What can be wrong with a key or token.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Error {
    /// The key is not a P-256 key in PKCS 8.
    #[error("cannot use the service account key: {0}")]
    Key(String),
    /// The token could not be signed.
    #[error("cannot sign a token")]
    Sign,
    /// Not a token of this form.
    #[error("invalid bearer token")]
    Malformed,
    /// Signed by somebody else.
    #[error("invalid bearer token")]
    Signature,
    /// Not valid any more, or not yet.
    #[error("service account token has expired")]
    Expired,
    /// For somebody else.
    #[error("token audiences {has:?} is invalid for the target audiences {wanted:?}")]
    Audience {
        /// The token's audiences.
        has: Vec<String>,
        /// The audiences of which it has to have one.
        wanted: Vec<String>,
    },
}

/// What a token says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// Audiences.
    pub aud: Vec<String>,
    /// Expiry, in seconds since 1970.
    pub exp: i64,
    /// Time of issue.
    pub iat: i64,
    /// Issuer.
    pub iss: String,
    /// Id of this token.
    pub jti: String,
    /// What it is bound to.
    #[serde(rename = "kubernetes.io")]
    pub kubernetes: Bound,
    /// Not valid before.
    pub nbf: i64,
    /// The user's name.
    pub sub: String,
}

/// The objects a token is bound to: it dies with them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// Namespace of the service account.
    pub namespace: String,
    /// The service account.
    pub serviceaccount: Reference,
    /// The pod that got the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<Reference>,
    /// The secret the token is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<Reference>,
    /// The node the pod runs on, or the node the token is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Reference>,
}

/// An object by name and uid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// Name.
    pub name: String,
    /// Uid; a token bound to an object that was made anew under the same name is not valid.
    #[serde(default)]
    pub uid: String,
}

/// Signs and checks tokens.
pub struct Signer {
    key: EcdsaKeyPair,
    random: SystemRandom,
    id: String,
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signer")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Signer {
    /// Uses a P-256 key given as PKCS 8 PEM, such as [`crate::pki::Identity::key`].
    pub fn from_pem(pem: &str) -> Result<Self, Error> {
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem.as_bytes())
            .map_err(|error| Error::Key(error.to_string()))?;
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::from_pkcs8(
            &ECDSA_P256_SHA256_FIXED_SIGNING,
            der.secret_pkcs8_der(),
            &random,
        )
        .map_err(|error| Error::Key(error.to_string()))?;
        let id = BASE64.encode(Sha256::digest(key.public_key().as_ref()));
        Ok(Self { key, random, id })
    }

    /// Makes a key for one run.
    pub fn generate() -> Result<Self, Error> {
        let key = rcgen::KeyPair::generate().map_err(|error| Error::Key(error.to_string()))?;
        Self::from_pem(&key.serialize_pem())
    }

    /// Signs.
    pub fn sign(&self, claims: &Claims) -> Result<String, Error> {
        let header = json!({"alg": "ES256", "kid": self.id});
        let claims = serde_json::to_vec(claims).map_err(|_| Error::Sign)?;
        let mut token = BASE64.encode(header.to_string());
        token.push('.');
        BASE64.encode_string(claims, &mut token);
        let signature = self
            .key
            .sign(&self.random, token.as_bytes())
            .map_err(|_| Error::Sign)?;
        token.push('.');
        BASE64.encode_string(signature.as_ref(), &mut token);
        Ok(token)
    }

    /// Checks signature, time and audience. The bound objects are the caller's to look up.
    pub fn verify(
        &self,
        token: &str,
        audiences: &[String],
        now: Timestamp,
    ) -> Result<Claims, Error> {
        let (signed, signature) = token.rsplit_once('.').ok_or(Error::Malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(Error::Malformed)?;
        let header: Value = decode(header)?;
        if header["alg"] != "ES256" {
            return Err(Error::Malformed);
        }
        let signature = BASE64.decode(signature).map_err(|_| Error::Malformed)?;
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.key.public_key().as_ref())
            .verify(signed.as_bytes(), &signature)
            .map_err(|_| Error::Signature)?;
        let claims: Claims = decode(claims)?;
        let seconds = now.as_second();
        if claims.iss != ISSUER {
            return Err(Error::Malformed);
        }
        if seconds >= claims.exp || seconds < claims.nbf {
            return Err(Error::Expired);
        }
        if !claims
            .aud
            .iter()
            .any(|audience| audiences.contains(audience))
        {
            return Err(Error::Audience {
                has: claims.aud,
                wanted: audiences.to_vec(),
            });
        }
        Ok(claims)
    }

    /// The public key as a JSON Web Key Set.
    pub fn jwks(&self) -> Value {
        // An uncompressed point: one byte 4, then x and y of 32 bytes each.
        let point = self.key.public_key().as_ref();
        let (x, y) = point.get(1..).unwrap_or_default().split_at(32);
        json!({"keys": [{
            "use": "sig", "kty": "EC", "kid": self.id, "crv": "P-256", "alg": "ES256",
            "x": BASE64.encode(x), "y": BASE64.encode(y),
        }]})
    }
}

fn decode<T: serde::de::DeserializeOwned>(part: &str) -> Result<T, Error> {
    let bytes = BASE64.decode(part).map_err(|_| Error::Malformed)?;
    serde_json::from_slice(&bytes).map_err(|_| Error::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims() -> Claims {
        Claims {
            aud: vec![ISSUER.to_owned()],
            exp: 2000,
            iat: 1000,
            iss: ISSUER.to_owned(),
            jti: "1".to_owned(),
            kubernetes: Bound {
                namespace: "n".to_owned(),
                serviceaccount: Reference {
                    name: "s".to_owned(),
                    uid: "u".to_owned(),
                },
                pod: None,
                secret: None,
                node: None,
            },
            nbf: 1000,
            sub: "system:serviceaccount:n:s".to_owned(),
        }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn a_token_says_what_was_signed() {
        let signer = Signer::generate().unwrap();
        let token = signer.sign(&claims()).unwrap();
        let audiences = [ISSUER.to_owned()];
        assert_eq!(signer.verify(&token, &audiences, at(1500)), Ok(claims()));
        assert_eq!(
            signer.verify(&token, &audiences, at(2000)),
            Err(Error::Expired)
        );
        assert_eq!(
            signer.verify(&token, &audiences, at(999)),
            Err(Error::Expired)
        );
        let wrong = signer.verify(&token, &["x".to_owned()], at(1500));
        assert!(matches!(wrong, Err(Error::Audience { .. })));
    }

    #[test]
    fn a_changed_or_foreign_token_is_refused() {
        let signer = Signer::generate().unwrap();
        let token = signer.sign(&claims()).unwrap();
        let audiences = [ISSUER.to_owned()];
        let other = Signer::generate().unwrap();
        assert_eq!(
            other.verify(&token, &audiences, at(1500)),
            Err(Error::Signature)
        );
        let parts: Vec<&str> = token.split('.').collect();
        let forged = Claims {
            sub: "system:serviceaccount:kube-system:admin".into(),
            ..claims()
        };
        let forged = BASE64.encode(serde_json::to_vec(&forged).unwrap());
        let forged = format!("{}.{forged}.{}", parts[0], parts[2]);
        assert_eq!(
            signer.verify(&forged, &audiences, at(1500)),
            Err(Error::Signature)
        );
        let none = format!("{}.{}.", BASE64.encode("{\"alg\":\"none\"}"), parts[1]);
        assert_eq!(
            signer.verify(&none, &audiences, at(1500)),
            Err(Error::Malformed)
        );
        for bad in ["", "a", "a.b", "a.b.c", "..."] {
            assert!(signer.verify(bad, &audiences, at(1500)).is_err());
        }
    }
}
