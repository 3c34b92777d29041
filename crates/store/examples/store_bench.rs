//! Writes per second of each engine, for 1 to 64 writers that each wait for their last write.
//!
//! `cargo run --release -p pernode-store --example store_bench [DIRECTORY]`; the directory chooses
//! the disk. Each figure is one second of updates of a pod-sized object per writer.
#![allow(clippy::print_stdout, reason = "the figures are what it is for")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use pernode_store::embedded::{self, Options};
use pernode_store::memory::Memory;
use pernode_store::{Attrs, Op, Payload, Precondition, Store};

const OBJECT_BYTES: usize = 3000;
const KEYS_PER_WRITER: u64 = 100;
const TIME: Duration = Duration::from_secs(1);

fn put(key: &str) -> Op {
    Op::Put {
        key: key.into(),
        payload: Payload::new(vec![b'x'; OBJECT_BYTES], 100),
        attrs: Attrs::default(),
        precondition: Precondition::Any,
    }
}

async fn write_for(store: Arc<dyn Store>, writer: usize, until: Instant) -> (u64, Duration) {
    let (mut writes, mut slowest) = (0, Duration::ZERO);
    while Instant::now() < until {
        let start = Instant::now();
        let key = format!(
            "/registry/pods/default/{writer}-{}",
            writes % KEYS_PER_WRITER
        );
        store.commit(put(&key)).await.expect("the disk works");
        slowest = slowest.max(start.elapsed());
        writes += 1;
    }
    (writes, slowest)
}

async fn measure(name: &str, store: &Arc<dyn Store>) {
    for writers in [1, 2, 4, 8, 16, 32, 64] {
        let start = Instant::now();
        let tasks = (0..writers)
            .map(|writer| tokio::spawn(write_for(Arc::clone(store), writer, start + TIME)));
        let (mut writes, mut slowest) = (0, Duration::ZERO);
        for task in tasks.collect::<Vec<_>>() {
            let (done, longest) = task.await.expect("the writer ends");
            writes += done;
            slowest = slowest.max(longest);
        }
        let rate = writes as f64 / start.elapsed().as_secs_f64();
        println!("{name:9} {writers:3} writers {rate:9.0} writes/s, slowest {slowest:?}");
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = match std::env::args_os().nth(1) {
        Some(parent) => tempfile::tempdir_in(parent)?,
        None => tempfile::tempdir()?,
    };
    let runtime = tokio::runtime::Runtime::new()?;
    let memory: Arc<dyn Store> = Arc::new(Memory::default());
    runtime.block_on(measure("memory", &memory));
    let embedded: Arc<dyn Store> = Arc::new(embedded::open(dir.path(), &Options::default())?);
    runtime.block_on(measure("embedded", &embedded));
    let start = Instant::now();
    runtime.block_on(embedded.close())?;
    let again = embedded::open(dir.path(), &Options::default())?;
    println!(
        "opened {} objects in {:?}",
        again.list("").len(),
        start.elapsed()
    );
    Ok(())
}
