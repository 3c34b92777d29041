//! The engine that keeps one directory.

/// The revision of a store that has never been written to.
///
/// Not 0, which clients send to mean "any revision".
pub(crate) const FIRST_REVISION: u64 = 1;
