//! The kubeconfig of a cluster: where it is, whom to trust, and the client's own certificate.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pernode_server::pki::Identity;
use serde_json::json;
use std::net::SocketAddr;

/// Name of the cluster, user and context.
const NAME: &str = "pernode";

/// Renders it as JSON, which is YAML.
pub(crate) fn render(address: SocketAddr, authority: &str, client: &Identity) -> String {
    let encode = |text: &str| STANDARD.encode(text);
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "preferences": {},
        "clusters": [{"name": NAME, "cluster": {
            "server": format!("https://{}", reachable(address)),
            "certificate-authority-data": encode(authority),
        }}],
        "users": [{"name": NAME, "user": {
            "client-certificate-data": encode(&client.certificate),
            "client-key-data": encode(&client.key),
        }}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME}}],
        "current-context": NAME,
    });
    format!("{config:#}\n")
}

/// An address a client on this machine can use: all interfaces means the loopback one.
fn reachable(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => {
            SocketAddr::from(([127, 0, 0, 1], address.port()))
        }
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => {
            SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], address.port()))
        }
        SocketAddr::V4(_) | SocketAddr::V6(_) => address,
    }
}
