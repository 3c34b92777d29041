//! One API over a store in memory, and a way to talk to it.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use pernode_server::{Api, Options, User};
use pernode_store::memory::Memory;
use serde_json::Value;
use tower::ServiceExt as _;

/// An API and who talks to it.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) api: Api,
    user: User,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) headers: http::HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// `code reason message` of a Status.
    pub(crate) fn status(&self) -> String {
        let value = self.json();
        let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
        format!("{} {} {}", self.code, text("reason"), text("message"))
    }

    pub(crate) fn warnings(&self) -> Vec<&str> {
        self.headers
            .get_all("warning")
            .iter()
            .map(|value| value.to_str().unwrap())
            .collect()
    }
}

impl Client {
    /// A new cluster, spoken to by its administrator.
    pub(crate) async fn new() -> Self {
        Self::with(Options::default()).await
    }

    pub(crate) async fn with(options: Options) -> Self {
        let schema = Arc::new(pernode_api::schema::Schema::load());
        let api = Api::builder(Arc::new(Memory::default()), schema)
            .options(options)
            .token("admin-token", User::admin("admin"))
            .build()
            .unwrap();
        api.bootstrap().await.unwrap();
        Self {
            api,
            user: User::admin("admin"),
        }
    }

    pub(crate) fn as_user(&self, user: User) -> Self {
        Self {
            api: self.api.clone(),
            user,
        }
    }

    pub(crate) async fn send(
        &self,
        request: http::Request<Full<Bytes>>,
    ) -> http::Response<pernode_server::Body> {
        self.api
            .service_as(self.user.clone())
            .oneshot(request)
            .await
            .unwrap()
    }

    /// Sends `METHOD path` with a body and headers given as `name: value`.
    pub(crate) async fn call(&self, line: &str, headers: &[&str], body: &str) -> Answer {
        let (method, path) = line.split_once(' ').unwrap();
        let mut request = http::Request::builder().method(method).uri(path);
        for header in headers {
            let (name, value) = header.split_once(": ").unwrap();
            request = request.header(name, value);
        }
        let request = request
            .body(Full::new(Bytes::from(body.to_owned())))
            .unwrap();
        let response = self.send(request).await;
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        Answer {
            code: parts.status.as_u16(),
            headers: parts.headers,
            text: String::from_utf8(bytes.to_vec()).unwrap(),
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.call(&format!("GET {path}"), &[], "").await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.call(
            &format!("POST {path}"),
            &["content-type: application/json"],
            &body.to_string(),
        )
        .await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> Answer {
        self.call(
            &format!("PUT {path}"),
            &["content-type: application/json"],
            &body.to_string(),
        )
        .await
    }

    /// `kind` is `merge`, `strategic-merge`, `json` or `apply`.
    pub(crate) async fn patch(&self, kind: &str, path: &str, body: &Value) -> Answer {
        let header = match kind {
            "apply" => "content-type: application/apply-patch+yaml".to_owned(),
            "json" => "content-type: application/json-patch+json".to_owned(),
            kind => format!("content-type: application/{kind}-patch+json"),
        };
        self.call(&format!("PATCH {path}"), &[&header], &body.to_string())
            .await
    }

    pub(crate) async fn delete(&self, path: &str, options: &str) -> Answer {
        self.call(&format!("DELETE {path}"), &[], options).await
    }
}
