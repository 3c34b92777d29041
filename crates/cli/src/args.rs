//! The command line, declared once: parser, help and completions come from here.

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;

const ABOUT: &str =
    "Keeps one Pod on every node that should have one, and rolls new versions out safely.";
const LONG_ABOUT: &str = "\
Keeps one Pod on every node that should have one, and rolls new versions out safely.

pernode is the DaemonSet system of Kubernetes in one program. `pernode up` starts a whole
cluster in this process (API server, store, controllers, simulated nodes) and unmodified
kubectl drives it.";
const EXAMPLES: &str = "\
Examples:
  pernode up                                   a cluster of 1 control plane and 4 workers
  export KUBECONFIG=~/.local/share/pernode/kubeconfig
  kubectl apply -f examples/fluentd.yaml
  kubectl rollout status ds/ds-test

  pernode up --ephemeral --nodes 1000          a thousand nodes, nothing kept afterwards
  pernode up --apply examples/node-agent.yaml  start, apply, and show the rollout
  pernode node add worker9 --label zone=b      let a node join the running cluster";

/// Everything on the command line.
#[derive(Debug, Parser)]
#[command(name = "pernode", version, about = ABOUT, long_about = LONG_ABOUT, after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Log more: -v for what the loops do, -vv for every request
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// How log lines look on standard error
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text, value_name = "FORMAT")]
    pub(crate) log_format: LogFormat,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// One line each, for people.
    Text,
    /// One JSON object each, for machines.
    Json,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a cluster in this process and keep it running until Ctrl-C
    Up(Box<Up>),
    /// Let simulated nodes join or leave a running cluster, or list the nodes
    #[command(subcommand)]
    Node(Node),
    /// Run the DaemonSet controller on a cluster that exists
    Controller(Controller),
    /// Print a completion script: source <(pernode completions bash)
    Completions {
        /// Shell to complete for
        shell: clap_complete::Shell,
    },
}

/// Options of `pernode up`.
#[derive(Debug, ClapArgs)]
#[command(after_help = UP_HELP)]
pub(crate) struct Up {
    /// Worker nodes to have: worker, worker2, worker3 …
    ///
    /// At the first start 4 when not given. Later starts find the nodes of the data directory
    /// again; a number given then adds the workers that are missing and removes none.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub(crate) nodes: Option<u32>,
    /// Node manifests to start with, instead of the workers of --nodes
    #[arg(long, value_name = "FILE", conflicts_with = "nodes")]
    pub(crate) nodes_from: Option<PathBuf>,
    /// Directory that holds the cluster: its data, certificates and kubeconfig
    #[arg(
        long,
        value_name = "DIR",
        env = "PERNODE_DATA_DIR",
        conflicts_with = "ephemeral"
    )]
    pub(crate) data_dir: Option<PathBuf>,
    /// Keep everything in memory and nothing afterwards
    #[arg(long)]
    pub(crate) ephemeral: bool,
    /// Address of the API server; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:6443")]
    pub(crate) listen: SocketAddr,
    /// Manifest to apply once the cluster is ready; shows the rollout until it is done (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(crate) apply: Vec<PathBuf>,
    /// Loops that do not run, such as daemonset-controller or kube-scheduler (comma-separated)
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) without: Vec<String>,
    /// Also merge a context 'pernode' into ~/.kube/config (or the file of $KUBECONFIG)
    #[arg(long)]
    pub(crate) write_kubeconfig: bool,
    /// CPUs of each simulated node, as a Kubernetes quantity
    #[arg(long, value_name = "QUANTITY", default_value = "4", value_parser = quantity)]
    pub(crate) node_cpu: String,
    /// Memory of each simulated node, as a Kubernetes quantity
    #[arg(long, value_name = "QUANTITY", default_value = "8Gi", value_parser = quantity)]
    pub(crate) node_memory: String,
    /// Pods that fit on each simulated node
    #[arg(long, value_name = "N", default_value_t = 110)]
    pub(crate) node_pods: u32,
}

/// Options of `pernode controller`.
#[derive(Debug, ClapArgs)]
#[command(after_help = CONTROLLER_HELP)]
pub(crate) struct Controller {
    /// Kubeconfig to use [default: $KUBECONFIG, else the service account of the pod it runs in]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Look after the DaemonSets of this namespace only
    #[arg(long, value_name = "NAMESPACE", default_value = "")]
    pub(crate) namespace: String,
    /// Act without an election: only where no second one runs
    #[arg(long)]
    pub(crate) no_leader_election: bool,
    /// Namespace of the election's Lease
    #[arg(long, value_name = "NAMESPACE", default_value = "kube-system")]
    pub(crate) lease_namespace: String,
    /// Name of the election's Lease
    #[arg(long, value_name = "NAME", default_value = "pernode-controller")]
    pub(crate) lease_name: String,
}

const CONTROLLER_HELP: &str = "\
Kubernetes' own DaemonSet controller must not run beside it: start kube-controller-manager with
--controllers=*,-daemonset-controller. Two or more replicas elect a leader by a Lease; the others
wait. Signals: SIGINT and SIGTERM finish the writes that were sent and give the lease back.";

const UP_HELP: &str = "\
The first start makes a certificate authority and a kubeconfig in the data directory; later
starts use them again, so a KUBECONFIG that worked once keeps working.
Signals: SIGINT (Ctrl-C) and SIGTERM stop cleanly; everything acknowledged is on disk anyway.";

/// Commands about nodes; they go through the API of a running cluster.
#[derive(Debug, Subcommand)]
pub(crate) enum Node {
    /// Let a simulated node join
    Add(NodeAdd),
    /// Let simulated nodes leave: their Node objects and pods go
    Remove {
        /// Names of the nodes
        #[arg(required = true)]
        names: Vec<String>,
        #[command(flatten)]
        connection: Connection,
    },
    /// List the nodes and whether they are simulated here
    List {
        #[command(flatten)]
        connection: Connection,
        /// Print JSON instead of a table
        #[arg(long, value_enum, default_value_t = ListOutput::Table, short, value_name = "FORMAT")]
        output: ListOutput,
    },
}

/// How a list is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListOutput {
    /// Columns for people.
    Table,
    /// A JSON array for machines.
    Json,
}

/// Options of `pernode node add`.
#[derive(Debug, ClapArgs)]
pub(crate) struct NodeAdd {
    /// Names of the nodes
    #[arg(required = true)]
    pub(crate) names: Vec<String>,
    /// Label of the nodes (repeatable)
    #[arg(long = "label", value_name = "KEY=VALUE")]
    pub(crate) labels: Vec<String>,
    /// Taint of the nodes (repeatable)
    #[arg(long = "taint", value_name = "KEY[=VALUE]:EFFECT")]
    pub(crate) taints: Vec<String>,
    /// CPUs, as a Kubernetes quantity
    #[arg(long, value_name = "QUANTITY", default_value = "4", value_parser = quantity)]
    pub(crate) cpu: String,
    /// Memory, as a Kubernetes quantity
    #[arg(long, value_name = "QUANTITY", default_value = "8Gi", value_parser = quantity)]
    pub(crate) memory: String,
    /// Pods that fit
    #[arg(long, value_name = "N", default_value_t = 110)]
    pub(crate) pods: u32,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// How to reach a running cluster.
#[derive(Debug, ClapArgs)]
pub(crate) struct Connection {
    /// Kubeconfig to use [default: $KUBECONFIG, else the one of the data directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Data directory of the running `pernode up`
    #[arg(long, value_name = "DIR", env = "PERNODE_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
}

/// Refuses text that is not a Kubernetes quantity above zero.
fn quantity(text: &str) -> Result<String, String> {
    let parsed = pernode_core::quantity::Quantity::parse(text)
        .map_err(|error| format!("{error}; use a quantity such as 4, 500m or 8Gi"))?;
    if parsed.milli_value() <= 0 {
        return Err("must be greater than 0".to_owned());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Args::command().debug_assert();
    }

    fn check_refused(arguments: &[&str], part: &str) {
        let error = Args::try_parse_from(arguments).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }

    #[test]
    fn bad_values_name_the_option() {
        check_refused(&["pernode", "up", "--nodes", "many"], "--nodes");
        check_refused(&["pernode", "up", "--node-cpu", "4 cores"], "--node-cpu");
        check_refused(&["pernode", "up", "--listen", "6443"], "--listen");
        check_refused(
            &["pernode", "up", "--ephemeral", "--data-dir", "x"],
            "--data-dir",
        );
        check_refused(
            &["pernode", "up", "--nodes", "3", "--nodes-from", "x"],
            "--nodes-from",
        );
    }
}
