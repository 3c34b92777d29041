//! What the server counts, in Prometheus' text form.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::request::RequestInfo;

/// Upper bounds of the latency histogram, in seconds.
const BUCKETS: [f64; 10] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0];
/// Different combinations of labels; further ones are counted as "other". Paths come from
/// clients, so without a bound they could fill the memory.
const SERIES_MAX: usize = 2_000;

/// Counters of one server.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    in_flight: AtomicI64,
    watches: AtomicI64,
    series: Mutex<BTreeMap<Finished, Series>>,
}

/// What a request was about, as labels.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finished {
    verb: &'static str,
    group: String,
    resource: String,
    subresource: String,
    code: u16,
}

#[derive(Debug, Default)]
struct Series {
    count: u64,
    seconds: f64,
    buckets: [u64; BUCKETS.len()],
}

impl Finished {
    pub(crate) fn of(info: &RequestInfo) -> Self {
        match info {
            RequestInfo::NonResource { .. } => Self::other("get"),
            RequestInfo::Resource(request) => Self {
                verb: request.verb.as_str(),
                group: request.group.clone(),
                resource: request.resource.clone(),
                subresource: request.subresource.clone().unwrap_or_default(),
                code: 0,
            },
        }
    }

    fn other(verb: &'static str) -> Self {
        Self {
            verb,
            group: String::new(),
            resource: String::new(),
            subresource: String::new(),
            code: 0,
        }
    }
}

/// Lowers a gauge when it goes.
#[derive(Debug)]
pub(crate) struct Guard<'a>(&'a AtomicI64);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Metrics {
    /// A request begins.
    pub(crate) fn begin(&self) -> Guard<'_> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        Guard(&self.in_flight)
    }

    /// A watch begins or ends.
    pub(crate) fn watches(&self, change: i64) {
        self.watches.fetch_add(change, Ordering::Relaxed);
    }

    /// A request is answered.
    pub(crate) fn finish(&self, mut what: Finished, code: u16, took: Duration) {
        what.code = code;
        let mut series = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        if series.len() >= SERIES_MAX && !series.contains_key(&what) {
            what = Finished::other(what.verb);
            what.code = code;
        }
        let entry = series.entry(what).or_default();
        let seconds = took.as_secs_f64();
        entry.count += 1;
        entry.seconds += seconds;
        for (bucket, bound) in entry.buckets.iter_mut().zip(BUCKETS) {
            *bucket += u64::from(seconds <= bound);
        }
    }

    /// The text that Prometheus reads.
    pub(crate) fn text(&self, revision: u64, up: Duration) -> String {
        let mut out = String::with_capacity(8192);
        let gauge = |out: &mut String, name: &str, help: &str, value: String| {
            let _ = writeln!(
                out,
                "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}"
            );
        };
        gauge(
            &mut out,
            "apiserver_current_inflight_requests",
            "Requests being handled now, watches included while they start.",
            self.in_flight.load(Ordering::Relaxed).to_string(),
        );
        gauge(
            &mut out,
            "apiserver_longrunning_requests",
            "Open watches.",
            self.watches.load(Ordering::Relaxed).to_string(),
        );
        gauge(
            &mut out,
            "pernode_store_revision",
            "Revision of the last write.",
            revision.to_string(),
        );
        gauge(
            &mut out,
            "pernode_uptime_seconds",
            "Seconds since the server was made.",
            format!("{:.3}", up.as_secs_f64()),
        );
        self.write_series(&mut out);
        out
    }

    fn write_series(&self, out: &mut String) {
        let series = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        let name = "apiserver_request_total";
        let _ = writeln!(
            out,
            "# HELP {name} Requests answered.\n# TYPE {name} counter"
        );
        for (what, entry) in &*series {
            let labels = what.labels();
            let _ = writeln!(
                out,
                "{name}{{code=\"{}\",{labels}}} {}",
                what.code, entry.count
            );
        }
        let name = "apiserver_request_duration_seconds";
        let _ = writeln!(
            out,
            "# HELP {name} Time until a request was answered; of a watch, until it began.\n# TYPE {name} histogram"
        );
        for (what, entry) in &*series {
            let labels = format!("code=\"{}\",{}", what.code, what.labels());
            for (bound, count) in BUCKETS.iter().zip(entry.buckets) {
                let _ = writeln!(out, "{name}_bucket{{{labels},le=\"{bound}\"}} {count}");
            }
            let _ = writeln!(
                out,
                "{name}_bucket{{{labels},le=\"+Inf\"}} {count}\n{name}_sum{{{labels}}} {sum:.6}\n{name}_count{{{labels}}} {count}",
                count = entry.count,
                sum = entry.seconds
            );
        }
    }
}

impl Finished {
    fn labels(&self) -> String {
        format!(
            "group={:?},resource={:?},subresource={:?},verb={:?}",
            self.group,
            self.resource,
            self.subresource,
            self.verb.to_uppercase()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_bounds() {
        let metrics = Metrics::default();
        let guard = metrics.begin();
        for n in 0..SERIES_MAX + 10 {
            let what = Finished {
                resource: format!("r{n}"),
                ..Finished::other("list")
            };
            metrics.finish(what, 200, Duration::from_millis(2));
        }
        let text = metrics.text(7, Duration::from_secs(1));
        assert!(text.contains("apiserver_current_inflight_requests 1\n"));
        assert!(text.contains("pernode_store_revision 7\n"));
        let other = "apiserver_request_total{code=\"200\",group=\"\",resource=\"\",subresource=\"\",verb=\"LIST\"} 10\n";
        assert!(text.contains(other));
        assert!(text.contains("le=\"0.0025\"} 1\n"));
        drop(guard);
        assert_eq!(metrics.in_flight.load(Ordering::Relaxed), 0);
    }
}
