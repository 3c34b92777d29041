//! Tests of `fleet`.
