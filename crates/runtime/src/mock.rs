//! A scripted API server for tests: a function from requests to replies.

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use http::{Request, Response};
use http_body_util::StreamBody;
use kube::client::Body;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;

/// What the server answers.
pub(crate) enum Reply {
    /// A whole answer.
    Full(u16, String),
    /// A watch: each text is one chunk; it ends when the sender is dropped.
    Stream(mpsc::UnboundedReceiver<String>),
}

/// What the server was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) content_type: String,
    pub(crate) body: String,
}

/// A client of a server that answers by `script`.
pub(crate) fn client(
    script: impl FnMut(&Asked) -> Reply + Send + 'static,
) -> (kube::Client, Arc<Mutex<Vec<Asked>>>) {
    let log = Arc::new(Mutex::new(Vec::new()));
    let script = Arc::new(Mutex::new(script));
    let seen = Arc::clone(&log);
    let service = tower::service_fn(move |request: Request<Body>| {
        let (script, seen) = (Arc::clone(&script), Arc::clone(&seen));
        async move {
            let asked = read(request).await;
            let reply = (script.lock().unwrap())(&asked);
            seen.lock().unwrap().push(asked);
            Ok::<_, Infallible>(write(reply))
        }
    });
    (kube::Client::new(service, "default"), log)
}

async fn read(request: Request<Body>) -> Asked {
    let (parts, body) = request.into_parts();
    let content_type = parts.headers.get(http::header::CONTENT_TYPE);
    Asked {
        method: parts.method.to_string(),
        path: parts.uri.to_string(),
        content_type: content_type.map_or_else(String::new, |v| v.to_str().unwrap().to_owned()),
        body: String::from_utf8(body.collect_bytes().await.unwrap().to_vec()).unwrap(),
    }
}

type Chunks = BoxStream<'static, Result<http_body::Frame<Bytes>, Infallible>>;

fn write(reply: Reply) -> Response<StreamBody<Chunks>> {
    let (status, chunks) = match reply {
        Reply::Full(status, text) => (status, futures::stream::iter([text]).boxed()),
        Reply::Stream(receiver) => (200, receiver_stream(receiver)),
    };
    let frames = chunks
        .map(|text| Ok(http_body::Frame::data(Bytes::from(text))))
        .into_stream()
        .boxed();
    Response::builder()
        .status(status)
        .body(StreamBody::new(frames))
        .unwrap()
}

fn receiver_stream(receiver: mpsc::UnboundedReceiver<String>) -> BoxStream<'static, String> {
    futures::stream::unfold(receiver, |mut receiver| async {
        receiver.recv().await.map(|text| (text, receiver))
    })
    .boxed()
}
