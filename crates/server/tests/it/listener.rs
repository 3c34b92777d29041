//! The API over the network.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::ListParams;
use kube::{Api, Client as Kube, Config};
use pernode_server::pki::Authority;
use pernode_server::{ConnectionLimits, Listener, Tls, listen};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::harness::Client;

async fn start(client: &Client) -> (Listener, Authority) {
    let authority = Authority::generate(Timestamp::now()).unwrap();
    let tls = Tls {
        server: authority
            .server(&["127.0.0.1".into(), "localhost".into()], Timestamp::now())
            .unwrap(),
        client_ca: authority.identity().certificate.clone(),
    };
    let address = "127.0.0.1:0".parse().unwrap();
    let limits = ConnectionLimits {
        head_within: Duration::from_millis(300),
        ..ConnectionLimits::default()
    };
    let listener = listen(client.api.clone(), address, Some(tls), limits)
        .await
        .unwrap();
    (listener, authority)
}

fn config(listener: &Listener, authority: &Authority) -> Config {
    let url = format!("https://{}", listener.local_addr());
    let mut config = Config::new(url.parse().unwrap());
    let pem = authority.identity().certificate.clone();
    let der = rustls_pki_types::pem::PemObject::from_pem_slice(pem.as_bytes());
    let der: rustls_pki_types::CertificateDer<'static> = der.unwrap();
    config.root_cert = Some(vec![der.to_vec()]);
    config
}

async fn namespaces(config: Config) -> Result<usize, kube::Error> {
    let api: Api<Namespace> = Api::all(Kube::try_from(config).unwrap());
    Ok(api.list(&ListParams::default()).await?.items.len())
}

#[tokio::test]
async fn certificates_and_tokens_are_believed() {
    let client = Client::new().await;
    let (listener, authority) = start(&client).await;
    let anonymous = namespaces(config(&listener, &authority)).await.unwrap_err();
    assert!(
        anonymous.to_string().contains("system:anonymous"),
        "{anonymous}"
    );
    let mut with_token = config(&listener, &authority);
    with_token.auth_info.token = Some("admin-token".to_owned().into());
    assert_eq!(namespaces(with_token).await.unwrap(), 4);
    let mut wrong = config(&listener, &authority);
    wrong.auth_info.token = Some("wrong".to_owned().into());
    assert!(
        namespaces(wrong)
            .await
            .unwrap_err()
            .to_string()
            .contains("Unauthorized")
    );
    let identity = authority
        .client("admin", &["system:masters"], Timestamp::now())
        .unwrap();
    let mut with_certificate = config(&listener, &authority);
    use base64::Engine as _;
    let encode = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    with_certificate.auth_info.client_certificate_data = Some(encode(&identity.certificate));
    with_certificate.auth_info.client_key_data = Some(encode(&identity.key).into());
    assert_eq!(namespaces(with_certificate).await.unwrap(), 4);
    listener.stop().await;
}

#[tokio::test]
async fn slow_and_broken_clients_harm_nobody() {
    let client = Client::new().await;
    let address = "127.0.0.1:0".parse().unwrap();
    let limits = ConnectionLimits {
        head_within: Duration::from_millis(200),
        ..ConnectionLimits::default()
    };
    let listener = listen(client.api.clone(), address, None, limits)
        .await
        .unwrap();
    let mut slow = tokio::net::TcpStream::connect(listener.local_addr())
        .await
        .unwrap();
    slow.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
        .await
        .unwrap();
    let mut answer = Vec::new();
    let read = slow.read_to_end(&mut answer);
    tokio::time::timeout(Duration::from_secs(5), read)
        .await
        .expect("a slow head is cut off")
        .ok();
    let mut other = tokio::net::TcpStream::connect(listener.local_addr())
        .await
        .unwrap();
    let request = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    other.write_all(request).await.unwrap();
    let mut answer = String::new();
    other.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    listener.stop().await;
}

#[tokio::test]
async fn a_stop_ends_watches() {
    let client = Client::new().await;
    let address = "127.0.0.1:0".parse().unwrap();
    let limits = ConnectionLimits::default();
    let listener = listen(client.api.clone(), address, None, limits)
        .await
        .unwrap();
    let mut stream = tokio::net::TcpStream::connect(listener.local_addr())
        .await
        .unwrap();
    let request = b"GET /api/v1/namespaces?watch=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin-token\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let mut first = [0; 15];
    stream.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200 OK");
    let mut rest = Vec::new();
    let read = async move {
        stream.read_to_end(&mut rest).await.unwrap();
        rest
    };
    let stopped = async { tokio::join!(listener.stop(), read).1 };
    let rest = tokio::time::timeout(Duration::from_secs(4), stopped)
        .await
        .expect("a watch does not hold up a stop");
    assert!(
        rest.ends_with(b"0\r\n\r\n"),
        "the body of the watch ends in good order"
    );
}

#[tokio::test]
async fn a_port_in_use_is_an_error() {
    let client = Client::new().await;
    let address = "127.0.0.1:0".parse().unwrap();
    let limits = ConnectionLimits::default();
    let first = listen(client.api.clone(), address, None, limits.clone())
        .await
        .unwrap();
    let second = listen(client.api.clone(), first.local_addr(), None, limits).await;
    assert!(
        second
            .unwrap_err()
            .to_string()
            .starts_with("cannot listen on 127.0.0.1:")
    );
    first.stop().await;
}
