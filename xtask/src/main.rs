//! Checks of the source tree itself, run by CI: `cargo xtask gates` and `cargo xtask tidy`.
//!
//! `gates` holds every crate to the layer it states in `[package.metadata.pernode]`; `tidy` looks
//! at the files. Both print what is wrong and where, and exit with 1.

mod gates;
mod tidy;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mode = std::env::args().nth(1);
    let findings = match mode.as_deref() {
        Some("gates") => gates::check(),
        Some("tidy") => tidy::check(),
        _ => Err(anyhow::anyhow!("usage: cargo xtask gates | tidy")),
    };
    match findings {
        Ok(findings) if findings.is_empty() => ExitCode::SUCCESS,
        Ok(findings) => {
            report(&findings);
            ExitCode::FAILURE
        }
        Err(error) => {
            report(&[format!("{error:#}")]);
            ExitCode::FAILURE
        }
    }
}

#[allow(
    clippy::print_stderr,
    reason = "the one place where this program speaks"
)]
fn report(findings: &[String]) {
    for finding in findings {
        eprintln!("xtask: {finding}");
    }
}
