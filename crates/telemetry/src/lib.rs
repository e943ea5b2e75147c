//! Metrics, and how logs and traces leave the process.
