//! Tests of `garbage`.
