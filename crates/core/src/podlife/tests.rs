//! Tests of `podlife`.
