//! The live display of rollouts: a bar for each DaemonSet on standard error.

use crate::apply::Applied;
use crate::narrate::{Followed, Rollout, resource};
use crate::output::{GOOD, NAME, note, paint};
use anyhow::{Context, Result};
use futures::StreamExt;
use futures::future::try_join_all;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use kube::api::{DynamicObject, WatchEvent, WatchParams};

/// Follows the rollouts until all are done. Bars are drawn on a terminal only.
pub(crate) async fn follow(
    client: &kube::Client,
    daemonsets: &[Applied],
    followed: &Followed,
) -> Result<()> {
    let bars = MultiProgress::new();
    let width = daemonsets.iter().map(|d| d.name.len()).max().unwrap_or(0);
    let rollouts = daemonsets.iter().map(|daemonset| {
        let bar = bars.add(ProgressBar::no_length().with_style(style()));
        bar.set_prefix(format!("{:width$}", daemonset.name));
        watch(client, daemonset, bar, followed)
    });
    try_join_all(rollouts).await?;
    Ok(())
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("  {prefix:.bold} [{bar:32.green}] {pos}/{len} {msg:.dim}")
        .expect("the template is fixed")
        .progress_chars("=> ")
}

async fn watch(
    client: &kube::Client,
    daemonset: &Applied,
    bar: ProgressBar,
    followed: &Followed,
) -> Result<()> {
    let Applied { namespace, name } = daemonset;
    let resource = resource("apps", "DaemonSet", "daemonsets");
    let api = kube::Api::<DynamicObject>::namespaced_with(client.clone(), namespace, &resource);
    let params = WatchParams::default()
        .fields(&format!("metadata.name={name}"))
        .timeout(290);
    loop {
        let stream = api
            .watch(&params, "0")
            .await
            .with_context(|| format!("cannot watch daemonset {name:?}"))?;
        let mut stream = std::pin::pin!(stream);
        while let Some(Ok(event)) = stream.next().await {
            match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    if show(&object, &bar) {
                        followed.shown(&daemonset.qualified(), &object);
                        finish(daemonset, &bar);
                        return Ok(());
                    }
                }
                WatchEvent::Deleted(object) => {
                    followed.shown(&daemonset.qualified(), &object);
                    bar.abandon_with_message("deleted");
                    return Ok(());
                }
                WatchEvent::Bookmark(_) | WatchEvent::Error(_) => {}
            }
        }
    }
}

/// Draws one state; true when the rollout is done.
fn show(object: &DynamicObject, bar: &ProgressBar) -> bool {
    let rollout = Rollout::of(&serde_json::to_value(object).unwrap_or_default());
    bar.set_length(rollout.desired);
    bar.set_position(rollout.available.min(rollout.updated));
    bar.set_message(format!(
        "updated {} available {}",
        rollout.updated, rollout.available
    ));
    rollout.is_done()
}

fn finish(daemonset: &Applied, bar: &ProgressBar) {
    let nodes = bar.length().unwrap_or(0);
    let seconds = bar.elapsed().as_secs_f64();
    bar.finish_and_clear();
    note(format_args!(
        "{} {} on {nodes} nodes in {seconds:.1} s",
        paint(NAME, format_args!("daemonset/{}", daemonset.qualified())),
        paint(GOOD, "rolled out"),
    ));
}
