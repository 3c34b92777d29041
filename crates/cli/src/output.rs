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
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.ends_with(&cause) {
            continue;
        }
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&cause);
    }
    note(format_args!("{} {text}", paint(BAD, "error:")));
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
