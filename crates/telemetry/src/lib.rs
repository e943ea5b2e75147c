//! Figures for Prometheus, and traces for OpenTelemetry.
//!
//! **Invariants:** nothing is global but what `tracing` itself makes so; a label never holds the id of a run, a
//! session or a person, so that the number of time series is bounded by what is declared here.

mod fleet;
mod metrics;
mod spans;

pub use fleet::{Connections, Fleet, SharedClock};
pub use metrics::{Metrics, OpenTrace, Queue};
pub use spans::{Spans, SpansError};
