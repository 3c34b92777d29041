//! The API from outside: requests in, answers out, through the tower service and over TLS.

mod harness;
mod listener;
mod objects;
mod quotas;
mod rights;
mod typed;
mod watching;
