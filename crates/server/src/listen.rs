//! The API over the network: TLS, HTTP/1.1 and HTTP/2, limits against slow and greedy clients, and
//! an end in good order.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use rustls::ServerConfig;
use rustls::server::WebPkiClientVerifier;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;
use tower_http::compression::Compression;
use tower_http::compression::predicate::Predicate;

use crate::api::Api;
use crate::authn;
use crate::call::Closing;
use crate::pki::Identity;
use crate::reply::{Large, Response};
use crate::user::User;

/// Bounds on connections.
#[derive(Debug, Clone)]
pub struct ConnectionLimits {
    /// Connections at the same time; further ones wait to be accepted. Default: 4,096.
    pub connections_max: usize,
    /// Time for a TLS handshake. Default: 10 s.
    pub handshake_within: Duration,
    /// Time for the head of a request, and for which a connection may be idle. Default: 90 s.
    pub head_within: Duration,
    /// Bytes of a request's head. Default: 64 KiB.
    pub head_bytes_max: usize,
    /// Requests at the same time on one HTTP/2 connection. Default: 1,000.
    pub streams_max: u32,
    /// Time for requests to end after a stop. Default: 5 s.
    pub drain_within: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            connections_max: 4_096,
            handshake_within: Duration::from_secs(10),
            head_within: Duration::from_secs(90),
            head_bytes_max: 64 * 1024,
            streams_max: 1_000,
            drain_within: Duration::from_secs(5),
        }
    }
}

/// How a listener proves who it is, and whose client certificates it believes.
#[derive(Debug, Clone)]
pub struct Tls {
    /// The server's certificate and key.
    pub server: Identity,
    /// PEM of the CA whose client certificates name users.
    pub client_ca: String,
}

/// Why a listener cannot start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address cannot be listened on; the source says why.
    #[error("cannot listen on {address}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the operating system says.
        #[source]
        source: io::Error,
    },
    /// A certificate or key cannot be used.
    #[error("cannot use the TLS {what}: {why}")]
    Tls {
        /// Which part.
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
}

/// A running listener. It stops when it is told to, not when this value is dropped.
#[derive(Debug)]
pub struct Listener {
    local_addr: SocketAddr,
    closing: CancellationToken,
    tasks: TaskTracker,
    drain_within: Duration,
}

impl Listener {
    /// The address it listens on, with the port it was given.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Stops: no new connections, watches end, other requests are answered, all within a bound.
    pub async fn stop(self) {
        self.closing.cancel();
        self.tasks.close();
        let drained = tokio::time::timeout(self.drain_within, self.tasks.wait()).await;
        if drained.is_err() {
            tracing::warn!("some connections did not end in time and are cut off");
        }
    }
}

/// Listens on an address, with TLS or, for tests and trusted sidecars, without.
pub async fn listen(
    api: Api,
    address: SocketAddr,
    tls: Option<Tls>,
    limits: ConnectionLimits,
) -> Result<Listener, Error> {
    let acceptor = tls.as_ref().map(acceptor).transpose()?;
    let bind = |source| Error::Bind { address, source };
    let socket = TcpListener::bind(address).await.map_err(bind)?;
    let local_addr = socket.local_addr().map_err(bind)?;
    let closing = CancellationToken::new();
    let tasks = TaskTracker::new();
    let listener = Listener {
        local_addr,
        closing: closing.clone(),
        tasks: tasks.clone(),
        drain_within: limits.drain_within,
    };
    let server = Arc::new(Server {
        api,
        acceptor,
        connections: Arc::new(Semaphore::new(limits.connections_max)),
        limits,
        closing,
        tasks: tasks.clone(),
    });
    tasks.spawn(accept(server, socket));
    Ok(listener)
}

fn acceptor(tls: &Tls) -> Result<TlsAcceptor, Error> {
    let failed = |what: &'static str| move |why: String| Error::Tls { what, why };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let certificates = |pem: &str, what| -> Result<Vec<CertificateDer<'static>>, Error> {
        CertificateDer::pem_slice_iter(pem.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(|error| failed(what)(error.to_string()))
    };
    let mut roots = rustls::RootCertStore::empty();
    for certificate in certificates(&tls.client_ca, "client CA")? {
        roots
            .add(certificate)
            .map_err(|error| failed("client CA")(error.to_string()))?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .allow_unauthenticated()
        .build()
        .map_err(|error| failed("client CA")(error.to_string()))?;
    let key = PrivateKeyDer::from_pem_slice(tls.server.key.as_bytes())
        .map_err(|error| failed("key")(error.to_string()))?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| failed("provider")(error.to_string()))?
        .with_client_cert_verifier(verifier)
        .with_single_cert(certificates(&tls.server.certificate, "certificate")?, key)
        .map_err(|error| failed("certificate")(error.to_string()))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// What all connections share.
struct Server {
    api: Api,
    acceptor: Option<TlsAcceptor>,
    connections: Arc<Semaphore>,
    limits: ConnectionLimits,
    closing: CancellationToken,
    tasks: TaskTracker,
}

async fn accept(server: Arc<Server>, socket: TcpListener) {
    loop {
        let place = server.connections.clone().acquire_owned();
        let accepted = tokio::select! {
            () = server.closing.cancelled() => return,
            Ok(place) = place => tokio::select! {
                () = server.closing.cancelled() => return,
                accepted = socket.accept() => accepted.map(|(stream, _)| (stream, place)),
            },
        };
        match accepted {
            Ok((stream, place)) => {
                server.tasks.spawn(serve(server.clone(), stream, place));
            }
            Err(error) => {
                // Out of file descriptors, most likely: closing connections make room.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn serve(server: Arc<Server>, stream: TcpStream, _place: OwnedSemaphorePermit) {
    // Small answers and watch events must not wait for each other.
    let _ = stream.set_nodelay(true);
    let Some(acceptor) = &server.acceptor else {
        return converse(&server, stream, None, Http::One).await;
    };
    let handshake = acceptor.accept(stream);
    let Ok(Ok(stream)) = tokio::time::timeout(server.limits.handshake_within, handshake).await
    else {
        return;
    };
    let (_, session) = stream.get_ref();
    let user = session
        .peer_certificates()
        .and_then(|chain| authn::certificate_user(chain.first()?))
        .map(Arc::new);
    let http = if session.alpn_protocol() == Some(b"h2") {
        Http::Two
    } else {
        Http::One
    };
    converse(&server, stream, user, http).await;
}

/// The version of HTTP that was agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Http {
    One,
    Two,
}

async fn converse<S>(server: &Arc<Server>, stream: S, user: Option<Arc<User>>, http: Http)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let answer = {
        let server = server.clone();
        tower::service_fn(move |mut request: Request<Incoming>| {
            let (server, user) = (server.clone(), user.clone());
            request
                .extensions_mut()
                .insert(Closing(server.closing.clone()));
            async move {
                let response: Response = server.api.serve_unknown(user, request).await;
                Ok::<_, std::convert::Infallible>(response)
            }
        })
    };
    let compressed = Compression::new(answer).compress_when(IsLarge);
    let service = service_fn(move |request| compressed.clone().oneshot(request));
    let builder = builder(&server.limits, http);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = server.closing.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended badly");
    }
}

fn builder(limits: &ConnectionLimits, http: Http) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_within)
        .max_buf_size(limits.head_bytes_max);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams_max)
        .max_header_list_size(limits.head_bytes_max as u32)
        .keep_alive_interval(Some(limits.head_within))
        .keep_alive_timeout(limits.head_within);
    match http {
        Http::One => builder.http1_only(),
        Http::Two => builder.http2_only(),
    }
}

/// Only answers that are marked as large are compressed: a watch's events must not wait in a
/// compressor, and small answers do not get smaller.
#[derive(Debug, Clone, Copy)]
struct IsLarge;

impl Predicate for IsLarge {
    fn should_compress<B: http_body::Body>(&self, response: &http::Response<B>) -> bool {
        response.extensions().get::<Large>().is_some()
    }
}
