//! Benchmarks.

mod due;
mod throughput;
mod world;
