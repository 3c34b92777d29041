//! `/healthz`, `/livez` and `/readyz`.

use std::fmt::Write as _;

use crate::api::Inner;
use crate::query::Query;
use crate::reply::{self, Response};

/// One check: its name, and what is wrong if it fails.
type Check = (&'static str, fn(&Inner) -> Result<(), String>);

const CHECKS: [Check; 3] = [
    ("ping", |_| Ok(())),
    ("store", |api| {
        // A revision can be read as long as the store's memory is sound; a closed store would
        // have ended the process.
        (api.store.revision() > 0)
            .then_some(())
            .ok_or_else(|| "the store has no revision".to_owned())
    }),
    ("requests", |api| {
        (api.requests.available_permits() > 0)
            .then_some(())
            .ok_or_else(|| "as many requests as allowed are being handled".to_owned())
    }),
];

/// Upstream's name for the check of the store, which tools ask for.
const ALIASES: [(&str, &str); 1] = [("etcd", "store")];

fn canonical(name: &str) -> &str {
    ALIASES
        .iter()
        .find(|(alias, _)| *alias == name)
        .map_or(name, |(_, name)| name)
}

/// Answers for all checks, or for the one named in the path.
pub(super) fn answer(api: &Inner, rest: &[&str], query: &Query) -> Response {
    if let Some(name) = rest.first() {
        let found = CHECKS.iter().find(|(known, _)| *known == canonical(name));
        return match found {
            None => reply::page_not_found(),
            Some((name, check)) => match check(api) {
                Ok(()) => reply::text(200, "ok"),
                Err(why) => reply::text(500, format!("internal server error: {name}: {why}\n")),
            },
        };
    }
    let excluded: Vec<&str> = query.all("exclude").map(canonical).collect();
    let mut report = String::new();
    let mut healthy = true;
    for (name, check) in CHECKS {
        let line = if excluded.contains(&name) {
            format!("[+]{name} excluded: ok")
        } else if let Err(why) = check(api) {
            healthy = false;
            format!("[-]{name} failed: {why}")
        } else {
            format!("[+]{name} ok")
        };
        let _ = writeln!(report, "{line}");
    }
    if !healthy {
        return reply::text(500, format!("{report}check failed\n"));
    }
    if query.get("verbose").is_some() {
        return reply::text(200, format!("{report}check passed\n"));
    }
    reply::text(200, "ok")
}
