//! Admission: what the cluster adds to an object, or refuses for reasons outside of it.
