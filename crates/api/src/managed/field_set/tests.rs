//! Tests of `field_set`.

use super::*;
