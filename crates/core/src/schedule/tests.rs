//! Tests of `schedule`.
