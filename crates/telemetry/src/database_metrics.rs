//! The metrics of a database that several servers may share: its clock, connections and tables.

use std::{fmt, time::Duration};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::gauge::ConstGauge,
    registry::Unit,
};

/// The number of connections from this process to the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionCounts {
    /// The number of connections that execute something.
    pub in_use: u32,
    /// The number of idle connections.
    pub idle: u32,
}

/// The database's clock, as this process estimates it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DatabaseClock {
    /// `true` if the estimate is accurate enough for firing triggers, claiming runs and giving up lost ones.
    pub is_accurate: bool,
    /// The lead of the machine's clock over the database's clock, in seconds. `None` if the database's clock was
    /// never read.
    pub machine_lead_seconds: Option<f64>,
    /// The maximum error of the estimate. `None` if the database's clock was never read.
    pub uncertainty: Option<Duration>,
}

/// The metrics of a database, as read for one scrape. A value that could not be read is `None`, and its metric is
/// absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DatabaseMetrics {
    /// The database's clock.
    pub clock: Option<DatabaseClock>,
    /// `true` if this process receives notifications of changes by other processes.
    pub is_listening: Option<bool>,
    /// The connections of this process.
    pub connections: Option<ConnectionCounts>,
    /// The age of the oldest open transaction.
    pub oldest_transaction: Option<Duration>,
    /// The number of dead rows of each table that vacuum has not removed yet.
    pub dead_rows: Vec<(String, u64)>,
}

impl Collector for DatabaseMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        if let Some(clock) = self.clock {
            let help = "1 if the time of the database's clock is known accurately enough to fire triggers, else 0";
            encode_integer(
                &mut encoder,
                "clock_known",
                help,
                i64::from(clock.is_accurate),
            )?;
            if let Some(ahead) = clock.machine_lead_seconds {
                let help = "Lead of the machine's clock over the database's clock";
                encode_seconds(&mut encoder, "clock_offset", help, ahead)?;
            }
            if let Some(uncertainty) = clock.uncertainty {
                let help = "Maximum error of the estimated time of the database's clock";
                let uncertainty = uncertainty.as_secs_f64();
                encode_seconds(&mut encoder, "clock_uncertainty", help, uncertainty)?;
            }
        }
        if let Some(listening) = self.is_listening {
            let help = "1 if the database notifies this process of changes, 0 if the process polls for them";
            let listening = i64::from(listening);
            encode_integer(&mut encoder, "database_listening", help, listening)?;
        }
        if let Some(ConnectionCounts { in_use, idle }) = self.connections {
            let help = "Connections of this process to the database, by state";
            let counts = [("in_use", in_use.into()), ("idle", idle.into())];
            encode_family(&mut encoder, "database_connections", help, "state", counts)?;
        }
        if let Some(oldest) = self.oldest_transaction {
            let help = "Age of the oldest open transaction in the database";
            let oldest = oldest.as_secs_f64();
            encode_seconds(&mut encoder, "database_oldest_transaction", help, oldest)?;
        }
        if !self.dead_rows.is_empty() {
            let help = "Dead rows that vacuum has not removed yet, by table";
            let rows = self.dead_rows.iter();
            let rows = rows.map(|(table, count)| (table.as_str(), *count));
            encode_family(&mut encoder, "database_dead_rows", help, "table", rows)?;
        }
        Ok(())
    }
}

fn encode_integer(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    value: i64,
) -> Result<(), fmt::Error> {
    let gauge = ConstGauge::new(value);
    gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)
}

fn encode_seconds(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    value: f64,
) -> Result<(), fmt::Error> {
    let gauge = ConstGauge::new(value);
    let unit = Some(&Unit::Seconds);
    gauge.encode(encoder.encode_descriptor(name, help, unit, gauge.metric_type())?)
}

fn encode_family<'a>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    label: &'static str,
    counts: impl IntoIterator<Item = (&'a str, u64)>,
) -> Result<(), fmt::Error> {
    let kind = ConstGauge::new(0_i64).metric_type();
    let mut family = encoder.encode_descriptor(name, help, None, kind)?;
    for (value, count) in counts {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let labels = [(label, value)];
        ConstGauge::new(count).encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Metrics;

    #[test]
    fn database_metrics_are_encoded_with_process_metrics() {
        let metrics = Metrics::new("0");
        metrics.record_loop_error("clock");
        let fleet = DatabaseMetrics {
            clock: Some(DatabaseClock {
                is_accurate: true,
                machine_lead_seconds: Some(-1.5),
                uncertainty: Some(Duration::from_millis(3)),
            }),
            is_listening: Some(true),
            connections: Some(ConnectionCounts { in_use: 2, idle: 1 }),
            oldest_transaction: Some(Duration::from_secs(90)),
            dead_rows: vec![("agent_runs".into(), 7), ("run_live".into(), 0)],
        };
        let text = metrics.encode_with_database(None, fleet).unwrap();
        for line in [
            "matins_clock_known 1",
            "matins_clock_offset_seconds -1.5",
            "matins_clock_uncertainty_seconds 0.003",
            "matins_database_listening 1",
            "matins_database_connections{state=\"in_use\"} 2",
            "matins_database_connections{state=\"idle\"} 1",
            "matins_database_oldest_transaction_seconds 90.0",
            "matins_database_dead_rows{table=\"agent_runs\"} 7",
            "matins_database_dead_rows{table=\"run_live\"} 0",
            "matins_loop_errors_total{of=\"clock\"} 1",
            "# EOF",
        ] {
            assert!(
                text.lines().any(|written| written == line),
                "{line}\n{text}"
            );
        }
        assert_eq!(text.matches("# EOF").count(), 1);
    }

    #[test]
    fn unread_database_clock_has_no_offset_metric() {
        let fleet = DatabaseMetrics {
            clock: Some(DatabaseClock {
                is_accurate: false,
                machine_lead_seconds: None,
                uncertainty: None,
            }),
            ..DatabaseMetrics::default()
        };
        let text = Metrics::new("0").encode_with_database(None, fleet).unwrap();
        assert!(text.contains("\nmatins_clock_known 0\n"), "{text}");
        assert!(!text.contains("matins_clock_offset"), "{text}");
        assert!(!text.contains("matins_clock_uncertainty"), "{text}");
        assert!(!text.contains("matins_database"), "{text}");
    }
}
