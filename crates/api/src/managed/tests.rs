//! Tests of `managed`.

use super::*;
