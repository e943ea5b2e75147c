//! The metrics that a process counts and times.

use std::{fmt, sync::Arc, time::Duration};

use model::run::{Origin, RunStatus};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric, text},
    metrics::{
        counter::Counter, family::Family, gauge::ConstGauge, gauge::Gauge, histogram::Histogram,
        info::Info,
    },
    registry::{Registry, Unit},
};

use crate::DatabaseMetrics;

/// The buckets from a millisecond to half a minute, for delays and waits of the machinery.
const DELAY_BUCKETS: [f64; 14] = [
    0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];
/// The buckets from a tenth of a second to two hours, for turns.
const TURN_BUCKETS: [f64; 13] = [
    0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0,
];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RunEndLabels {
    outcome: &'static str,
    origin: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TurnLabels {
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    route: String,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LoopLabels {
    of: &'static str,
}

/// The methods that have a label value of their own. All others share one, because a client may send any word as the
/// method, and each value would create a time series.
const KNOWN_METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

/// The metrics of one process. Clones are cheap and share the values.
#[derive(Clone)]
pub struct Metrics {
    registered: Arc<RegisteredMetrics>,
}

struct RegisteredMetrics {
    registry: Registry,
    fire_lag: Histogram,
    occurrences: Counter,
    missed: Counter,
    claim_latency: Histogram,
    queue_wait: Histogram,
    turn_duration: Family<TurnLabels, Histogram>,
    runs_ended: Family<RunEndLabels, Counter>,
    stalls: Counter,
    sweep_faults: Counter,
    loop_errors: Family<LoopLabels, Counter>,
    requests: Family<RequestLabels, Histogram>,
    open_traces: Gauge,
}

/// A guard that counts an open live trace until it is dropped.
#[derive(Debug)]
pub struct OpenTrace(Gauge);

impl Drop for OpenTrace {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// The number of runs that have not ended, as read from the database for one scrape.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct QueueMetrics {
    /// The number of runs that a worker may claim.
    pub queued: u64,
    /// The number of runs that wait for a seat, a session, a budget or the end of a backoff.
    pub deferred: u64,
    /// The number of runs that a worker has claimed but not begun.
    pub delivered: u64,
    /// The number of runs with a running turn.
    pub running: u64,
    /// The time that the oldest queued run has waited.
    pub oldest_queued: Duration,
}

impl Metrics {
    /// Makes the metrics of a process, all at zero. `version` is the version of the program.
    pub fn new(version: &'static str) -> Self {
        let mut registry = Registry::with_prefix("matins");
        let build = Info::new(vec![("version", version)]);
        registry.register("build", "Version of the program", build);
        let quick = || Histogram::new(DELAY_BUCKETS);
        let fire_lag = quick();
        registry.register_with_unit(
            "fire_lag",
            "Time from the due instant of a trigger to the commit of its runs",
            Unit::Seconds,
            fire_lag.clone(),
        );
        let fired = Counter::default();
        registry.register(
            "occurrences",
            "Occurrences that became runs or were skipped",
            fired.clone(),
        );
        let missed = Counter::default();
        registry.register(
            "missed",
            "Due instants that were missed and are not caught up",
            missed.clone(),
        );
        let claim = quick();
        registry.register_with_unit(
            "claim_latency",
            "Duration of claims that found runs",
            Unit::Seconds,
            claim.clone(),
        );
        let queue_wait = quick();
        registry.register_with_unit(
            "queue_wait",
            "Time from a message, or from the due instant of an occurrence, to the claim of the first attempt",
            Unit::Seconds,
            queue_wait.clone(),
        );
        let turn = Family::new_with_constructor(turn_histogram as fn() -> Histogram);
        registry.register_with_unit(
            "turn",
            "Duration of turns, by outcome",
            Unit::Seconds,
            turn.clone(),
        );
        let ended = Family::default();
        registry.register(
            "runs_ended",
            "Runs that this process has ended, by outcome and origin",
            ended.clone(),
        );
        let stalls = Counter::default();
        registry.register(
            "stalls",
            "Runs that were given up because their worker was lost",
            stalls.clone(),
        );
        let sweep_faults = Counter::default();
        registry.register(
            "sweep_faults",
            "Inputs without a live run, and active goals without an open turn, that the sweeps found",
            sweep_faults.clone(),
        );
        let loop_errors = Family::default();
        registry.register(
            "loop_errors",
            "Failed ticks of the server's loops, by loop",
            loop_errors.clone(),
        );
        let requests = Family::new_with_constructor(delay_histogram as fn() -> Histogram);
        registry.register_with_unit(
            "http_request",
            "Duration of requests until the response, or until the start of a streamed response",
            Unit::Seconds,
            requests.clone(),
        );
        let traces = Gauge::default();
        registry.register("traces_open", "Open live traces", traces.clone());
        Self {
            registered: Arc::new(RegisteredMetrics {
                registry,
                fire_lag,
                occurrences: fired,
                missed,
                claim_latency: claim,
                queue_wait,
                turn_duration: turn,
                runs_ended: ended,
                stalls,
                sweep_faults,
                loop_errors,
                requests,
                open_traces: traces,
            }),
        }
    }

    /// Records a tick of the scheduler that fired triggers. `lag` is the delay of the earliest due instant among
    /// them.
    pub fn record_fired(&self, occurrences: u32, missed: u64, lag: Duration) {
        // A tick that only recorded missed instants has no meaningful lag: it would report the downtime of the
        // server.
        if occurrences > 0 {
            self.registered.fire_lag.observe(lag.as_secs_f64());
        }
        self.registered.occurrences.inc_by(occurrences.into());
        self.registered.missed.inc_by(missed);
    }

    /// Records a claim that found runs, with its duration.
    pub fn record_claim(&self, took: Duration) {
        self.registered.claim_latency.observe(took.as_secs_f64());
    }

    /// Records the time from the arrival of an input to the claim of its first attempt.
    pub fn record_queue_wait(&self, wait: Duration) {
        self.registered.queue_wait.observe(wait.as_secs_f64());
    }

    /// Records the end of a turn.
    pub fn record_turn_end(&self, status: RunStatus, origin: Origin, took: Duration) {
        let outcome = status.as_str();
        let turn = self
            .registered
            .turn_duration
            .get_or_create(&TurnLabels { outcome });
        turn.observe(took.as_secs_f64());
        let origin = origin.as_str();
        self.registered
            .runs_ended
            .get_or_create(&RunEndLabels { outcome, origin })
            .inc();
    }

    /// Records runs that were given up because their worker was lost.
    pub fn record_stalls(&self, runs: usize) {
        self.registered.stalls.inc_by(runs as u64);
    }

    /// Records inputs without a live run, or active goals without an open turn, that a sweep found.
    pub fn record_sweep_faults(&self, faults: u32) {
        self.registered.sweep_faults.inc_by(faults.into());
    }

    /// Records a failed tick of the loop `of`.
    pub fn record_loop_error(&self, of: &'static str) {
        self.registered
            .loop_errors
            .get_or_create(&LoopLabels { of })
            .inc();
    }

    /// Records the response to a request. `route` must be the pattern of the route, because a path contains IDs.
    pub fn record_response(&self, method: &str, route: &str, status: u16, took: Duration) {
        let known_method = KNOWN_METHODS.into_iter().find(|known| *known == method);
        let request = RequestLabels {
            method: known_method.unwrap_or("other"),
            route: route.to_owned(),
            status,
        };
        let requests = self.registered.requests.get_or_create(&request);
        requests.observe(took.as_secs_f64());
    }

    /// Counts a live trace as open until the returned guard is dropped.
    #[must_use]
    pub fn open_trace(&self) -> OpenTrace {
        let traces = self.registered.open_traces.clone();
        traces.inc();
        OpenTrace(traces)
    }

    /// Formats all metrics in the `OpenMetrics` 1.0 format, which Prometheus reads. If `queue` is `None`, because the
    /// database could not be read, the metrics of the queue are absent: a zero would be wrong.
    pub fn encode(&self, queue: Option<QueueMetrics>) -> Result<String, fmt::Error> {
        self.encode_with_database(queue, DatabaseMetrics::default())
    }

    /// Formats all metrics as [`Self::encode`] does, with those of a database that several servers may share.
    pub fn encode_with_database(
        &self,
        queue: Option<QueueMetrics>,
        fleet: DatabaseMetrics,
    ) -> Result<String, fmt::Error> {
        let mut out = String::new();
        let mut scraped = Registry::with_prefix("matins");
        if let Some(queue) = queue {
            scraped.register_collector(Box::new(queue));
        }
        scraped.register_collector(Box::new(fleet));
        text::encode_registry(&mut out, &scraped)?;
        text::encode_registry(&mut out, &self.registered.registry)?;
        text::encode_eof(&mut out)?;
        Ok(out)
    }
}

impl Collector for QueueMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let help = "Runs that are not over, by status";
        let gauge = ConstGauge::new(0_i64);
        let mut family = encoder.encode_descriptor("runs", help, None, gauge.metric_type())?;
        for (status, count) in [
            ("queued", self.queued),
            ("deferred", self.deferred),
            ("delivered", self.delivered),
            ("running", self.running),
        ] {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            let labels = [("status", status)];
            ConstGauge::new(count).encode(family.encode_family(&labels)?)?;
        }
        let oldest = ConstGauge::new(self.oldest_queued.as_secs_f64());
        let help = "Waiting time of the oldest queued run";
        let descriptor = encoder.encode_descriptor(
            "oldest_queued",
            help,
            Some(&Unit::Seconds),
            oldest.metric_type(),
        )?;
        oldest.encode(descriptor)
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

fn turn_histogram() -> Histogram {
    Histogram::new(TURN_BUCKETS)
}

fn delay_histogram() -> Histogram {
    Histogram::new(DELAY_BUCKETS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_encoded_in_openmetrics_format() {
        let metrics = Metrics::new("1.2.3");
        metrics.record_fired(2, 1, Duration::from_millis(3));
        metrics.record_claim(Duration::from_millis(2));
        metrics.record_queue_wait(Duration::from_millis(7));
        metrics.record_turn_end(
            RunStatus::Failed,
            Origin::Occurrence,
            Duration::from_secs(2),
        );
        metrics.record_stalls(1);
        metrics.record_sweep_faults(1);
        metrics.record_loop_error("scheduler");
        metrics.record_response("GET", "/api/v1/runs/{run}", 404, Duration::from_millis(1));
        let queue = QueueMetrics {
            queued: 4,
            oldest_queued: Duration::from_millis(1500),
            ..QueueMetrics::default()
        };
        let text = metrics.encode(Some(queue)).unwrap();
        for line in [
            "matins_build_info{version=\"1.2.3\"} 1",
            "matins_runs{status=\"queued\"} 4",
            "matins_runs{status=\"running\"} 0",
            "matins_oldest_queued_seconds 1.5",
            "matins_fire_lag_seconds_bucket{le=\"0.005\"} 1",
            "matins_occurrences_total 2",
            "matins_missed_total 1",
            "matins_claim_latency_seconds_count 1",
            "matins_queue_wait_seconds_bucket{le=\"0.005\"} 0",
            "matins_turn_seconds_bucket{le=\"1.0\",outcome=\"failed\"} 0",
            "matins_runs_ended_total{outcome=\"failed\",origin=\"occurrence\"} 1",
            "matins_stalls_total 1",
            "matins_sweep_faults_total 1",
            "matins_loop_errors_total{of=\"scheduler\"} 1",
            "matins_http_request_seconds_count{method=\"GET\",route=\"/api/v1/runs/{run}\",status=\"404\"} 1",
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
    fn tick_without_occurrences_records_no_fire_lag() {
        let metrics = Metrics::new("0");
        metrics.record_fired(0, 3, Duration::from_secs(9));
        let text = metrics.encode(None).unwrap();
        assert!(text.contains("matins_fire_lag_seconds_count 0"), "{text}");
        assert!(text.contains("matins_missed_total 3"), "{text}");
    }

    #[test]
    fn unreadable_queue_metrics_are_absent() {
        let metrics = Metrics::new("0");
        metrics.record_loop_error("scheduler");
        let text = metrics.encode(None).unwrap();
        assert!(!text.contains("matins_runs{"), "{text}");
        assert!(!text.contains("matins_oldest_queued"), "{text}");
        assert!(text.contains("matins_loop_errors_total"), "{text}");
        assert!(text.ends_with("# EOF\n"), "{text}");
    }

    #[test]
    fn unknown_http_methods_share_one_label() {
        let metrics = Metrics::new("0");
        for method in ["GET", "BREW", "WHEN"] {
            metrics.record_response(method, "/", 405, Duration::from_millis(1));
        }
        let text = metrics.encode(None).unwrap();
        for (method, count) in [("GET", 1), ("other", 2)] {
            let line = format!(
                "matins_http_request_seconds_count{{method=\"{method}\",route=\"/\",status=\"405\"}} {count}"
            );
            assert!(
                text.lines().any(|written| written == line),
                "{line}\n{text}"
            );
        }
        assert!(!text.contains("BREW"), "{text}");
    }
}
