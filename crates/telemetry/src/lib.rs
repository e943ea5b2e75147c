//! Metrics for Prometheus, and spans for OpenTelemetry.
//!
//! **Invariants:** this crate has no global state except the one that `tracing` itself requires. No label contains
//! the ID of a run, a session or a person, because each value of a label creates a time series; the declarations here
//! bound their number.

mod database_metrics;
mod metrics;
mod spans;

pub use database_metrics::{ConnectionCounts, DatabaseClock, DatabaseMetrics};
pub use metrics::{Metrics, OpenTrace, QueueMetrics};
pub use spans::{Spans, SpansError};
