//! From a description to a running cluster.

use crate::error::Error;
use crate::files::Folder;
use crate::members::{Members, Without};
use crate::nodes::{self, Nodes};
use crate::{Cluster, kubeconfig};
use jiff::Timestamp;
use pernode_api::schema::Schema;
use pernode_node::Capacity;
use pernode_server::pki::Authority;
use pernode_server::{Api, ConnectionLimits, Listener, Tls, User};
use pernode_store::Store;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

/// User and group of the kubeconfig that a cluster hands out.
const ADMIN: (&str, &str) = ("pernode-admin", "system:masters");
/// The port that is shown where the API takes any free one.
const API_PORT: u16 = 6443;
/// Names that clients on this machine may call the server by.
const HOSTS: [&str; 7] = [
    "localhost",
    "127.0.0.1",
    "::1",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];

/// Where a cluster keeps its objects.
#[derive(Debug, Clone, Default)]
pub enum Storage {
    /// In memory: nothing is left afterwards.
    #[default]
    Memory,
    /// In a directory, which is made if it is absent.
    Directory(PathBuf),
}

/// Describes a cluster. The default is one in memory, on a free port, with the default nodes.
#[derive(Debug, Clone)]
pub struct Builder {
    storage: Storage,
    listen: SocketAddr,
    nodes: Nodes,
    capacity: Capacity,
    without: Without,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            storage: Storage::Memory,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            nodes: Nodes::Default,
            capacity: Capacity::default(),
            without: Without::default(),
        }
    }
}

impl Builder {
    /// Where objects are kept. Default: in memory.
    #[must_use]
    pub fn storage(mut self, storage: Storage) -> Self {
        self.storage = storage;
        self
    }

    /// Address of the API. Default: a free port of 127.0.0.1.
    #[must_use]
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = address;
        self
    }

    /// Nodes to start with. Default: a control plane and four workers.
    #[must_use]
    pub fn nodes(mut self, nodes: Nodes) -> Self {
        self.nodes = nodes;
        self
    }

    /// What a simulated node can hold. Default: 4 CPUs, 8 GiB, 110 pods.
    #[must_use]
    pub fn capacity(mut self, capacity: Capacity) -> Self {
        self.capacity = capacity;
        self
    }

    /// Leaves loops out, by their names, such as `daemonset-controller`. Default: all run.
    #[must_use]
    pub fn without<'a>(mut self, loops: impl IntoIterator<Item = &'a str>) -> Self {
        self.without.0.extend(loops.into_iter().map(str::to_owned));
        self
    }

    /// Starts it: when this returns, the API answers and the nodes have joined.
    ///
    /// # Errors
    /// What stands in the way; nothing is running then, and nothing is damaged.
    pub async fn start(self) -> Result<Cluster, Error> {
        let folder = self.folder()?;
        let now = Timestamp::now();
        let authority = folder.authority(now)?;
        let store = self.store(&folder)?;
        let api = self.api(&folder, &authority, store)?;
        api.bootstrap()
            .await
            .map_err(Error::step("make the objects every cluster has"))?;
        let client = client(&api, "pernode");
        let listener = self.listener(&api, &authority, now).await?;
        let members = Members::start(&api, &self.without, &authority.identity().certificate);
        nodes::join(&client, self.nodes, &self.capacity).await?;
        let admin = authority
            .client(ADMIN.0, &[ADMIN.1], now)
            .map_err(Error::Certificates)?;
        let address = listener.local_addr();
        let kubeconfig = kubeconfig::render(address, &authority.identity().certificate, &admin);
        folder.write(&folder.kubeconfig(), kubeconfig.as_bytes())?;
        Ok(Cluster {
            api,
            client,
            listener,
            members,
            kubeconfig,
            folder,
        })
    }

    fn folder(&self) -> Result<Folder, Error> {
        match &self.storage {
            Storage::Directory(path) => Folder::open(path),
            Storage::Memory => Folder::temporary(),
        }
    }

    fn store(&self, folder: &Folder) -> Result<Arc<dyn Store>, Error> {
        match self.storage {
            Storage::Memory => Ok(Arc::new(pernode_store::memory::Memory::new(
                pernode_store::Window::default(),
            ))),
            Storage::Directory(_) => {
                let options = pernode_store::embedded::Options {
                    indexer: pernode_server::indexer(),
                    ..Default::default()
                };
                let store = pernode_store::embedded::open(&folder.store(), &options);
                Ok(Arc::new(store.map_err(Error::Store)?))
            }
        }
    }

    fn api(
        &self,
        folder: &Folder,
        authority: &Authority,
        store: Arc<dyn Store>,
    ) -> Result<Api, Error> {
        let options = pernode_server::Options {
            public_address: self.public_address(),
            ca_certificate: Some(authority.identity().certificate.clone()),
            taint_new_nodes: !self.without.has(pernode_loops::names::NODE_LIFECYCLE),
            require_service_account: !self.without.has(pernode_loops::names::SERVICE_ACCOUNT),
            ..Default::default()
        };
        let key = folder.service_account_key()?;
        Api::builder(store, Arc::new(Schema::load()))
            .options(options)
            .service_account_key(&key)
            .build()
            .map_err(Error::step("use the key for service account tokens"))
    }

    /// Where clients reach the API, as far as that is known before a free port is taken.
    fn public_address(&self) -> String {
        let mut address = self.listen;
        if address.ip().is_unspecified() {
            address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
        }
        if address.port() == 0 {
            address.set_port(API_PORT);
        }
        address.to_string()
    }

    async fn listener(
        &self,
        api: &Api,
        authority: &Authority,
        now: Timestamp,
    ) -> Result<Listener, Error> {
        let mut hosts = HOSTS.map(str::to_owned).to_vec();
        let own = self.listen.ip().to_string();
        if !self.listen.ip().is_unspecified() && !hosts.contains(&own) {
            hosts.push(own);
        }
        let tls = Tls {
            server: authority.server(&hosts, now).map_err(Error::Certificates)?,
            client_ca: authority.identity().certificate.clone(),
        };
        let limits = ConnectionLimits::default();
        pernode_server::listen(api.clone(), self.listen, Some(tls), limits)
            .await
            .map_err(listen_error)
    }
}

/// An address in use is the one trouble with listening that everybody meets.
fn listen_error(error: pernode_server::listen::Error) -> Error {
    use pernode_server::listen::Error::{Bind, Tls};
    match error {
        Bind { address, source } if source.kind() == std::io::ErrorKind::AddrInUse => {
            Error::AddressInUse { address }
        }
        Bind { address, source } => Error::Listen { address, source },
        tls @ Tls { .. } => Error::step("use the serving certificate")(tls),
    }
}

/// A client that calls the API in process, with all rights, under a loop's name.
pub(crate) fn client(api: &Api, name: &str) -> kube::Client {
    kube::Client::new(
        api.service_as(User::admin(format!("system:{name}"))),
        "default",
    )
}
