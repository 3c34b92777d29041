//! Bodies: what a handler answers, and how a request's body is read within its limits.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::Stream;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt as _;

/// The body of an answer: nothing, bytes, or a stream that ends when a watch ends.
pub struct Body(Inner);

enum Inner {
    Bytes(Bytes),
    /// In a mutex that is never locked: it makes the body `Sync`, which some clients ask for.
    Stream(Mutex<Pin<Box<dyn Stream<Item = Bytes> + Send>>>),
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Inner::Bytes(bytes) => f.debug_tuple("Body").field(&bytes.len()).finish(),
            Inner::Stream(_) => f.write_str("Body(stream)"),
        }
    }
}

impl Body {
    /// A body that is there as a whole.
    pub fn full(bytes: impl Into<Bytes>) -> Self {
        Self(Inner::Bytes(bytes.into()))
    }

    /// A body that arrives in pieces. Empty pieces are not sent.
    pub fn stream(stream: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Self(Inner::Stream(Mutex::new(Box::pin(stream))))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.0 {
            Inner::Bytes(bytes) if bytes.is_empty() => Poll::Ready(None),
            Inner::Bytes(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Inner::Stream(stream) => stream
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner)
                .as_mut()
                .poll_next(cx)
                .map(|piece| piece.map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, Inner::Bytes(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Inner::Bytes(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Inner::Stream(_) => SizeHint::default(),
        }
    }
}

/// Why a request's body could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ReadError {
    /// More bytes than allowed.
    #[error("the body of the request is too large")]
    TooLarge,
    /// The client was too slow.
    #[error("the body of the request did not arrive in time")]
    TooSlow,
    /// The connection broke.
    #[error("the body of the request could not be read")]
    Broken,
}

/// Reads a whole body. One frame, the usual case in process, is not copied.
pub(crate) async fn read<B>(body: B, max: usize, within: Duration) -> Result<Bytes, ReadError>
where
    B: http_body::Body<Data = Bytes>,
{
    tokio::time::timeout(within, collect(body, max))
        .await
        .map_err(|_| ReadError::TooSlow)?
}

async fn collect<B>(body: B, max: usize) -> Result<Bytes, ReadError>
where
    B: http_body::Body<Data = Bytes>,
{
    let mut body = std::pin::pin!(body);
    if body.size_hint().lower() > max as u64 {
        return Err(ReadError::TooLarge);
    }
    let mut first = Bytes::new();
    let mut more: Option<BytesMut> = None;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| ReadError::Broken)?.into_data() else {
            continue;
        };
        let so_far = more.as_ref().map_or(first.len(), BytesMut::len);
        if so_far + data.len() > max {
            return Err(ReadError::TooLarge);
        }
        match &mut more {
            Some(buffer) => buffer.extend_from_slice(&data),
            None if first.is_empty() => first = data,
            None => {
                let mut buffer = BytesMut::from(first.as_ref());
                buffer.extend_from_slice(&data);
                more = Some(buffer);
            }
        }
    }
    Ok(more.map_or(first, BytesMut::freeze))
}

#[cfg(test)]
mod tests {
    use http_body_util::{Full, StreamBody};

    use super::*;

    fn pieces(parts: &[&'static str]) -> impl http_body::Body<Data = Bytes, Error = Infallible> {
        let frames: Vec<_> = parts
            .iter()
            .map(|part| Ok(Frame::data(Bytes::from_static(part.as_bytes()))))
            .collect();
        StreamBody::new(futures::stream::iter(frames))
    }

    #[tokio::test]
    async fn reads_within_the_limit() {
        let second = Duration::from_secs(1);
        let full = Full::new(Bytes::from_static(b"abc"));
        assert_eq!(read(full, 3, second).await.unwrap(), "abc");
        assert_eq!(
            read(pieces(&["ab", "c", "de"]), 5, second).await.unwrap(),
            "abcde"
        );
        assert_eq!(
            read(pieces(&["ab", "c", "de"]), 4, second).await,
            Err(ReadError::TooLarge)
        );
        let full = Full::new(Bytes::from_static(b"abcd"));
        assert_eq!(read(full, 3, second).await, Err(ReadError::TooLarge));
    }

    #[tokio::test]
    async fn a_stalled_body_times_out() {
        let stalled =
            StreamBody::new(futures::stream::pending::<Result<Frame<Bytes>, Infallible>>());
        let result = read(stalled, 3, Duration::from_millis(10)).await;
        assert_eq!(result, Err(ReadError::TooSlow));
    }
}
