//! A running `pernode up`, killed at the latest when the test ends.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Longest a start may take on a busy machine.
const START_MAX: Duration = Duration::from_secs(30);

/// A `pernode up` process that has printed where its API is.
pub(crate) struct Pernode {
    child: Child,
    data: PathBuf,
}

/// The command line of the binary under test, free of the caller's settings.
pub(crate) fn pernode(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pernode"));
    command
        .args(arguments)
        .env_remove("KUBECONFIG")
        .env_remove("PERNODE_DATA_DIR")
        .env_remove("RUST_LOG")
        .env("NO_COLOR", "1");
    command
}

/// Runs the binary to its end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    pernode(arguments).output().expect("the binary runs")
}

impl Pernode {
    /// Starts on a free port and waits until it is ready.
    pub(crate) fn start(data: &Path, arguments: &[&str]) -> Self {
        let folder = data.to_str().expect("test paths are UTF-8");
        let mut all = vec!["up", "--data-dir", folder, "--listen", "127.0.0.1:0"];
        all.extend(arguments);
        let mut child = pernode(&all)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary runs");
        let stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let started = Instant::now();
        // The last line of the greeting: everything else was printed before it.
        let ready = stdout
            .lines()
            .map_while(Result::ok)
            .any(|line| line.contains("Ctrl-C"));
        assert!(
            ready && started.elapsed() < START_MAX,
            "pernode up did not become ready"
        );
        Self {
            child,
            data: data.to_owned(),
        }
    }

    /// The kubeconfig it wrote.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.data.join("kubeconfig")
    }

    /// A client of its API.
    pub(crate) async fn client(&self) -> kube::Client {
        let file = kube::config::Kubeconfig::read_from(self.kubeconfig()).expect("a kubeconfig");
        let options = kube::config::KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(file, &options)
            .await
            .expect("usable");
        kube::Client::try_from(config).expect("a client")
    }

    /// `kill -9`: no time to do anything.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ended");
    }

    /// SIGTERM, and the exit code.
    pub(crate) fn stop(mut self) -> Option<i32> {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
        self.child.wait().expect("it ended").code()
    }
}

impl Drop for Pernode {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
