//! Exports metrics to Prometheus and spans to OpenTelemetry.
//!
//! - [`Metrics`] has the counters and histograms of the process. [`QueueMetrics`] and [`DatabaseMetrics`] are read
//!   from the database for each scrape, and [`Metrics::encode_with_database`] formats all three as one text.
//! - [`Spans`] sends the spans of `tracing` to a collector in batches.
//!
//! Read `metrics.rs` first.
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
