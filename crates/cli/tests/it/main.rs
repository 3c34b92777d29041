//! The binary as its users meet it: a process, a data directory, kubectl.

mod controller;
mod durability;
mod kubectl;
mod process;
mod startup;
