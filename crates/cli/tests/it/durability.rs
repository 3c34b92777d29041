//! `kill -9` at random moments: every acknowledged write is found again, and nothing half-done.

use crate::process::Pernode;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use rand::{Rng, SeedableRng, rngs::StdRng};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Kills in one run; `PERNODE_KILLS` overrides it.
const KILLS: usize = 200;
/// Writers at the same time, so that commits of a group are cut through as well.
const WRITERS: usize = 4;
/// Names each writer works on.
const NAMES: usize = 8;

/// What one name may hold: the last acknowledged value, and the one in flight at the kill.
#[derive(Debug, Clone, Default)]
struct Cell {
    /// `None` is absent.
    acknowledged: Option<u64>,
    /// A write that was sent and never answered may or may not have happened.
    in_flight: Option<Option<u64>>,
}

type Model = Arc<Mutex<BTreeMap<String, Cell>>>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_acknowledged_write_survives_kill_9() {
    let kills = std::env::var("PERNODE_KILLS")
        .ok()
        .and_then(|k| k.parse().ok())
        .unwrap_or(KILLS);
    let seed = std::env::var("PERNODE_SEED")
        .ok()
        .and_then(|s| s.parse().ok());
    let seed = seed.unwrap_or_else(|| rand::rng().random());
    println!("PERNODE_SEED={seed} PERNODE_KILLS={kills}");
    let mut random = StdRng::seed_from_u64(seed);
    let folder = tempfile::tempdir().unwrap();
    let model = Model::default();
    let mut version_before = 0;
    for round in 0..kills {
        let pernode = Pernode::start(folder.path(), &["--nodes", "0"]);
        let client = pernode.client().await;
        let version = verify(&client, &model, round).await;
        assert!(
            version >= version_before,
            "resourceVersion went back: {version} < {version_before}"
        );
        version_before = version;
        let writers: Vec<_> = (0..WRITERS)
            .map(|w| tokio::spawn(write(client.clone(), model.clone(), w, random.random())))
            .collect();
        tokio::time::sleep(Duration::from_micros(random.random_range(0..60_000))).await;
        pernode.kill();
        for writer in writers {
            writer.await.unwrap();
        }
    }
    let acknowledged = model
        .lock()
        .unwrap()
        .values()
        .filter(|c| c.acknowledged.is_some())
        .count();
    assert!(
        acknowledged > 0,
        "the writers got nothing done, so nothing was tested"
    );
}

/// Creates, updates and deletes until the server is gone.
async fn write(client: kube::Client, model: Model, writer: usize, seed: u64) {
    let api: Api<ConfigMap> = Api::namespaced(client, "default");
    let mut random = StdRng::seed_from_u64(seed);
    loop {
        let name = format!("w{writer}-{}", random.random_range(0..NAMES));
        let before = model
            .lock()
            .unwrap()
            .entry(name.clone())
            .or_default()
            .acknowledged;
        let wanted = (before.is_none() || random.random_bool(0.7)).then(|| random.random());
        model
            .lock()
            .unwrap()
            .entry(name.clone())
            .or_default()
            .in_flight = Some(wanted);
        let done = match (before, wanted) {
            (None, Some(value)) => api
                .create(&PostParams::default(), &config_map(&name, value))
                .await
                .map(drop),
            (Some(_), Some(value)) => {
                let patch = Patch::Merge(config_map(&name, value));
                api.patch(&name, &PatchParams::default(), &patch)
                    .await
                    .map(drop)
            }
            (_, None) => api.delete(&name, &DeleteParams::default()).await.map(drop),
        };
        match done {
            Ok(()) => {
                let cell = Cell {
                    acknowledged: wanted,
                    in_flight: None,
                };
                model.lock().unwrap().insert(name, cell);
            }
            Err(kube::Error::Api(refusal)) => panic!("{name}: {refusal}"),
            Err(_) => return,
        }
    }
}

fn config_map(name: &str, value: u64) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("value".to_owned(), value.to_string())])),
        ..ConfigMap::default()
    }
}

/// Compares the server with the model, and settles what was in flight.
async fn verify(client: &kube::Client, model: &Model, round: usize) -> u64 {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    let list = api.list(&ListParams::default()).await.unwrap();
    let found: BTreeMap<String, u64> = list
        .items
        .into_iter()
        .filter_map(|c| {
            let value = c.data?.get("value")?.parse().ok()?;
            Some((c.metadata.name?, value))
        })
        .collect();
    for (name, cell) in model.lock().unwrap().iter_mut() {
        let now = found.get(name).copied();
        let expected = now == cell.acknowledged || cell.in_flight == Some(now);
        assert!(
            expected,
            "after kill {round}: {name} is {now:?}, expected {cell:?}"
        );
        *cell = Cell {
            acknowledged: now,
            in_flight: None,
        };
    }
    list.metadata.resource_version.unwrap().parse().unwrap()
}
