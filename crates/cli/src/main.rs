//! The binary `pernode`: arguments, printing, exit codes. Decisions live in the other crates.
//!
//! Data goes to standard output, everything else to standard error. Exit codes: 0 done,
//! 1 failed, 2 wrong usage, 130 interrupted before the work was done.

mod apply;
mod args;
mod client;
mod controller;
mod kubeconfig;
mod narrate;
mod node;
mod output;
mod progress;
mod stop;
mod up;

use clap::{CommandFactory, Parser};
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = args::Args::parse();
    match run(args) {
        Ok(code) => code,
        Err(error) => {
            output::error(&error);
            ExitCode::FAILURE
        }
    }
}

fn run(args: args::Args) -> anyhow::Result<ExitCode> {
    output::init_logs(args.verbose, args.log_format);
    match args.command {
        args::Command::Up(options) => runtime()?.block_on(up::run(*options)),
        args::Command::Node(command) => runtime()?.block_on(node::run(command)),
        args::Command::Controller(options) => runtime()?.block_on(controller::run(options)),
        args::Command::Completions { shell } => {
            let mut command = args::Args::command();
            clap_complete::generate(shell, &mut command, "pernode", &mut std::io::stdout());
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    use anyhow::Context;
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the worker threads")
}
