//! Stopping on signals: the first one in order, the second one at once.

use anyhow::{Context, Result};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Exit code after Ctrl-C before the work was done, as shells count it: 128 + SIGINT.
pub(crate) const INTERRUPTED: u8 = 130;

/// A token that SIGINT and SIGTERM cancel.
pub(crate) fn stop_on_signal() -> Result<CancellationToken> {
    let stop = CancellationToken::new();
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let token = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        token.cancel();
        // A second signal means now: what was acknowledged is on disk already.
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        std::process::exit(i32::from(INTERRUPTED));
    });
    Ok(stop)
}
