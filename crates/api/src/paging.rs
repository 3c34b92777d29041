//! Continue tokens: where the next page of a list begins, and at which revision.

use alloc::string::{String, ToString};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

/// The form of token that this and upstream's servers make.
const VERSION: &str = "meta.k8s.io/v1";

/// Where a list goes on. Opaque to clients, but not secret: it only says what they have seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Revision that all pages are read at; 0 goes on at the present state.
    pub revision: u64,
    /// Key of the last object that was shown, below the prefix of the list.
    pub start: String,
}

/// Why a token cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The text is not one of our tokens.
    #[error("continue key is not valid: it was not made by this server")]
    Form,
    /// The token is of another version.
    #[error("continue key is not valid: server does not recognize this encoded version")]
    Version,
    /// The key could reach outside of the list.
    #[error("continue key is not valid: the start is not below the list")]
    Start,
}

#[derive(Serialize, Deserialize)]
struct Encoded<'a> {
    v: &'a str,
    rv: u64,
    start: String,
}

impl Token {
    /// The text that clients send back.
    pub fn encode(&self) -> String {
        // A NUL behind the key stands for "after it", as in upstream's tokens.
        let start = alloc::format!("{}\0", self.start);
        let encoded = Encoded {
            v: VERSION,
            rv: self.revision,
            start,
        };
        URL_SAFE_NO_PAD.encode(serde_json::to_string(&encoded).expect("texts and numbers are JSON"))
    }

    /// Reads a text that a client sent.
    ///
    /// # Errors
    /// Text that is no token, or one that points out of its list.
    pub fn decode(text: &str) -> Result<Self, TokenError> {
        let json = URL_SAFE_NO_PAD
            .decode(text.trim_end_matches('='))
            .map_err(|_| TokenError::Form)?;
        let encoded: Encoded<'_> = serde_json::from_slice(&json).map_err(|_| TokenError::Form)?;
        if encoded.v != VERSION {
            return Err(TokenError::Version);
        }
        let start = encoded.start.strip_suffix('\0').unwrap_or(&encoded.start);
        if start.split('/').any(|part| part == "..") {
            return Err(TokenError::Start);
        }
        Ok(Self {
            revision: encoded.rv,
            start: start.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::prelude::v1::*;

    fn check_refused(json: &str, error: TokenError) {
        assert_eq!(Token::decode(&URL_SAFE_NO_PAD.encode(json)), Err(error));
    }

    #[test]
    fn foreign_tokens_are_refused() {
        assert_eq!(Token::decode("%%%"), Err(TokenError::Form));
        check_refused("{}", TokenError::Form);
        check_refused(
            r#"{"v":"meta.k8s.io/v9","rv":1,"start":"a"}"#,
            TokenError::Version,
        );
        check_refused(
            r#"{"v":"meta.k8s.io/v1","rv":1,"start":"../a"}"#,
            TokenError::Start,
        );
    }

    proptest! {
        #[test]
        fn what_is_encoded_comes_back(revision: u64, start in "[a-z0-9/.-]{0,20}") {
            let token = Token { revision, start };
            prop_assume!(!token.start.contains(".."));
            prop_assert_eq!(Token::decode(&token.encode()), Ok(token));
        }

        #[test]
        fn no_text_panics(text in ".{0,60}") {
            drop(Token::decode(&text));
        }
    }
}
