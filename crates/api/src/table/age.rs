//! Ages as people read them: the older, the coarser.

use alloc::format;
use alloc::string::String;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// A duration in whole seconds as a short text such as `119s`, `3m5s`, `7h59m` or `2y1d`.
///
/// Clocks differ a little between machines: one second into the future still is `0s`.
pub fn human_duration(seconds: i64) -> String {
    match seconds {
        ..-1 => "<invalid>".into(),
        -1 => "0s".into(),
        0..120 => format!("{seconds}s"),
        120..600 => pair(seconds, (MINUTE, 'm'), (1, 's')),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => pair(seconds, (HOUR, 'h'), (MINUTE, 'm')),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => pair(seconds, (DAY, 'd'), (HOUR, 'h')),
        _ if seconds < 2 * YEAR => format!("{}d", seconds / DAY),
        _ if seconds < 8 * YEAR => pair(seconds, (YEAR, 'y'), (DAY, 'd')),
        _ => format!("{}y", seconds / YEAR),
    }
}

/// Two units; the smaller one is left out when it is none.
fn pair(
    seconds: i64,
    (large, large_unit): (i64, char),
    (small, small_unit): (i64, char),
) -> String {
    let rest = seconds % large / small;
    let whole = seconds / large;
    if rest == 0 {
        format!("{whole}{large_unit}")
    } else {
        format!("{whole}{large_unit}{rest}{small_unit}")
    }
}
