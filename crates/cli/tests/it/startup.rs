//! Starting, stopping and starting again; and what stands in the way, said clearly.

use crate::process::{Pernode, run};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Runs `pernode up` where it cannot start: exit code 1, and the message names the trouble.
fn check_refused(arguments: &[&str], parts: &[&str]) {
    let mut all = vec!["up"];
    all.extend(arguments);
    let output = run(&all);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    for part in parts {
        assert!(message.contains(part), "{message:?} lacks {part:?}");
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("test paths are UTF-8")
}

#[test]
fn a_port_in_use_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    check_refused(
        &["--ephemeral", "--listen", &address],
        &[&address, "in use", "--listen"],
    );
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "mine").unwrap();
    let below = file.join("data");
    check_refused(
        &["--data-dir", text(&below), "--listen", "127.0.0.1:0"],
        &[text(&below)],
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn a_second_instance_is_refused_and_the_first_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let first = Pernode::start(folder.path(), &["--nodes", "1"]);
    check_refused(
        &["--data-dir", text(folder.path()), "--listen", "127.0.0.1:0"],
        &[text(folder.path()), "another"],
    );
    assert!(first.kubeconfig().exists());
    assert_eq!(first.stop(), Some(0));
}

#[test]
fn a_corrupt_data_file_is_named_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    Pernode::start(folder.path(), &["--nodes", "1"]).stop();
    let file = data_file(folder.path());
    std::fs::write(&file, vec![7; 100_000]).unwrap();
    check_refused(
        &["--data-dir", text(folder.path()), "--listen", "127.0.0.1:0"],
        &[text(&file)],
    );
    assert_eq!(std::fs::read(&file).unwrap(), vec![7; 100_000]);
}

/// The largest file of a data directory: the store.
fn data_file(folder: &Path) -> std::path::PathBuf {
    let mut files: Vec<_> = walk(folder);
    files.sort_by_key(|f| std::fs::metadata(f).unwrap().len());
    files.pop().unwrap()
}

fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path());
    entries
        .flat_map(|p| if p.is_dir() { walk(&p) } else { vec![p] })
        .collect()
}

#[tokio::test]
async fn a_restart_finds_the_nodes_again_and_keeps_the_kubeconfig() {
    use k8s_openapi::api::core::v1::Node;
    let folder = tempfile::tempdir().unwrap();
    let names = |list: kube::core::ObjectList<Node>| {
        list.items
            .into_iter()
            .filter_map(|n| n.metadata.name)
            .collect::<Vec<_>>()
    };
    let first = Pernode::start(folder.path(), &["--nodes", "2"]);
    let nodes: kube::Api<Node> = kube::Api::all(first.client().await);
    assert_eq!(
        names(nodes.list(&Default::default()).await.unwrap()),
        ["control-plane", "worker", "worker2"]
    );
    let mode = std::fs::metadata(first.kubeconfig())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(
        mode & 0o077,
        0,
        "the kubeconfig holds a key: only its owner may read it"
    );
    nodes.delete("worker", &Default::default()).await.unwrap();
    assert_eq!(first.stop(), Some(0));

    let second = Pernode::start(folder.path(), &[]);
    let nodes: kube::Api<Node> = kube::Api::all(second.client().await);
    assert_eq!(
        names(nodes.list(&Default::default()).await.unwrap()),
        ["control-plane", "worker2"]
    );
}

#[test]
fn an_apply_file_with_a_mistake_is_refused_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ds.yaml");
    std::fs::write(
        &file,
        "apiVersion: apps/v1\nkind: DemonSet\nmetadata: {name: x}\n",
    )
    .unwrap();
    check_refused(
        &[
            "--ephemeral",
            "--listen",
            "127.0.0.1:0",
            "--apply",
            text(&file),
        ],
        &[text(&file), "document 1", "DemonSet"],
    );
}

#[test]
fn usage_errors_exit_with_2() {
    assert_eq!(run(&["up", "--nodes", "x"]).status.code(), Some(2));
    assert_eq!(run(&["fly"]).status.code(), Some(2));
    assert_eq!(run(&["--version"]).status.code(), Some(0));
}
