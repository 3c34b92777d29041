//! How the program speaks: data on standard output, the rest on standard error.

use crate::args::LogFormat;
use anstyle::{AnsiColor, Style};
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use tracing_subscriber::EnvFilter;

/// Green, for what went well.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// Yellow, for what deserves a look.
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();
/// Red, for what failed.
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
/// Bold, for names.
pub(crate) const NAME: Style = Style::new().bold();
/// Dim, for times and asides.
pub(crate) const ASIDE: Style = Style::new().dimmed();

/// Text in a style; colours are removed again where the stream is not a terminal.
pub(crate) fn paint(style: Style, text: impl Display) -> String {
    format!("{}{text}{}", style.render(), style.render_reset())
}

/// One line of data on standard output. A closed pipe is not an error: the reader has enough.
pub(crate) fn data(line: impl Display) {
    let _ = writeln!(anstream::stdout(), "{line}");
}

/// One line for people on standard error.
pub(crate) fn note(line: impl Display) {
    let _ = writeln!(anstream::stderr(), "{line}");
}

/// An error with all its causes, and nothing twice.
pub(crate) fn error(error: &anyhow::Error) {
    note(format_args!("{} {}", paint(BAD, "error:"), explain(error)));
}

fn explain(error: &anyhow::Error) -> String {
    let mut causes: Vec<String> = Vec::new();
    for cause in error.chain() {
        // What the API refuses is said by the API; below it is the same again, as a structure.
        if let Some(kube::Error::Api(status)) = cause.downcast_ref() {
            causes.push(status.message.clone());
            break;
        }
        let cause = cause.to_string();
        if causes.last().is_none_or(|last| !last.ends_with(&cause)) {
            causes.push(cause);
        }
    }
    causes.join(": ")
}

/// Starts logging to standard error; `RUST_LOG` overrides the level.
pub(crate) fn init_logs(verbose: u8, format: LogFormat) {
    let level = match verbose {
        0 => "warn",
        1 => "info",
        _ => "debug",
    };
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new(format!("warn,pernode={level},{}", own_crates(level))));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    let terminal = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let started = match format {
        LogFormat::Text => builder.with_ansi(terminal).with_target(false).try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    // A second call, as tests make, keeps the first one's settings.
    drop(started);
}

fn own_crates(level: &str) -> String {
    [
        "server",
        "store",
        "runtime",
        "controller",
        "loops",
        "node",
        "cluster",
    ]
    .map(|name| format!("pernode_{name}={level}"))
    .join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_joined_and_said_once() {
        let inner = anyhow::anyhow!("disk full");
        let error = inner
            .context("cannot write x: disk full")
            .context("cannot start");
        assert_eq!(explain(&error), "cannot start: cannot write x: disk full");
    }

    #[test]
    fn a_refusal_is_the_servers_message_alone() {
        let status = kube::core::Status::failure("nodes \"a\" already exists", "AlreadyExists");
        let error = anyhow::Error::from(kube::Error::Api(Box::new(status)));
        let error = error.context("cannot add node \"a\"");
        assert_eq!(
            explain(&error),
            "cannot add node \"a\": nodes \"a\" already exists"
        );
    }
}
