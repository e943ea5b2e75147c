//! Logs to standard error, and exports traces to the configured endpoint.
//!
//! **Invariant:** each event is one bounded line in which every control character and every invisible one is escaped.

mod log_lines;
mod text_fields;

use std::{
    io::{self, IsTerminal},
    sync::{Mutex, PoisonError},
};

use config::{Config, ConfigProblem, LogFormat};
use telemetry::Spans;
use tracing::{Level, Subscriber, level_filters::LevelFilter};
use tracing_subscriber::{
    EnvFilter, Layer,
    filter::{FilterExt as _, filter_fn},
    fmt::{self, MakeWriter},
    layer::{Filter, SubscriberExt as _},
    registry::{LookupSpan, Registry},
    util::SubscriberInitExt as _,
};

use self::{log_lines::LogLines, text_fields::TextFields};
use crate::error::{CliError, Exit};

/// The service name of exported traces.
const SERVICE_NAME: &str = "matins";

/// The target of the SDK of the agents' tools, which logs the messages of agents whole.
const TOOLS_SDK: &str = "rmcp";

/// The exporter of traces. It is a global, as the log subscriber is: a process has one of each.
static SPAN_EXPORTER: Mutex<Option<Spans>> = Mutex::new(None);

/// Starts logging with the configured directives, or with `default`. The caller must call this before it starts the
/// runtime, because the exporter sends traces from a thread outside of it.
pub(crate) fn start(config: &Config, default: &str) -> Result<(), CliError> {
    let filter =
        log_filter(config, default).map_err(|problem| CliError::new(Exit::Usage, problem))?;
    let colours = io::stderr().is_terminal();
    let logs = log_layer(config.log_format.value, colours, io::stderr);
    let directives = config.log.value.as_deref().unwrap_or(default);
    let logs = logs.with_filter(limit_tools_sdk(filter, directives));
    let endpoint = config.otlp_endpoint.value.as_deref();
    let spans = endpoint
        .map(|endpoint| Spans::export_to(endpoint, SERVICE_NAME, env!("CARGO_PKG_VERSION")))
        .transpose()
        .map_err(|error| CliError::new(Exit::Environment, error))?;
    let traces = spans.as_ref().map(Spans::layer);
    Registry::default().with(logs).with(traces).init();
    *SPAN_EXPORTER.lock().unwrap_or_else(PoisonError::into_inner) = spans;
    Ok(())
}

/// Sends the last traces. The caller must have shut the runtime down. Waits for an unresponsive collector for at most
/// two seconds.
pub(crate) fn end() {
    let spans = SPAN_EXPORTER
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    if let Some(spans) = spans {
        spans.shut_down();
    }
}

/// Returns the layer that writes logs in a format.
fn log_layer<S, W>(format: LogFormat, colours: bool, to: W) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    W: for<'writer> MakeWriter<'writer> + Send + Sync + 'static,
{
    let logs = fmt::layer();
    match format {
        LogFormat::Text => logs
            .fmt_fields(TextFields)
            .with_ansi(colours)
            .with_writer(LogLines {
                to,
                format,
                colours,
            })
            .boxed(),
        LogFormat::Json => logs
            .json()
            .with_writer(LogLines {
                to,
                format,
                colours: false,
            })
            .boxed(),
    }
}

/// Returns the filter of log events: the configured directives, or `default`.
pub(crate) fn log_filter(config: &Config, default: &str) -> Result<EnvFilter, ConfigProblem> {
    let given = &config.log;
    let directives = given.value.as_deref();
    EnvFilter::try_new(directives.unwrap_or(default)).map_err(|error| {
        let reason =
            format!("{error}; accepted are levels and targets, such as info or daemon=debug,warn");
        ConfigProblem::value("log.directives", directives, &given.origin, reason)
    })
}

/// Limits the SDK of the agents' tools to warnings and errors unless `directives` name it, so that a log at `debug`, which
/// people show to others, has no texts of agents.
fn limit_tools_sdk<S>(filter: EnvFilter, directives: &str) -> impl Filter<S> + use<S> {
    let is_named = directives
        .split(',')
        .any(|directive| directive.trim_start().starts_with(TOOLS_SDK));
    let limit = filter_fn(move |metadata| {
        is_named || *metadata.level() <= Level::WARN || !metadata.target().starts_with(TOOLS_SDK)
    });
    // Without a hint, the level of `filter` would not count either, and each `trace!` would ask both.
    filter.and(limit.with_max_level_hint(LevelFilter::TRACE))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::Value;

    use super::*;

    /// A buffer that collects the log.
    #[derive(Clone, Default)]
    struct LogBuffer(Arc<Mutex<Vec<u8>>>);

    impl io::Write for LogBuffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Returns the log of an event within a turn whose span gets its session after it was entered.
    fn captured_log(format: LogFormat) -> String {
        log_of(format, false, || {
            let session = tracing::field::Empty;
            let turn = tracing::info_span!("turn", run = "run_1", session, worker = "here-1-a");
            let _entered = turn.enter();
            turn.record("session", "ses_1");
            tracing::warn!(tries = 2, "it is tried again");
            tracing::debug!("too small");
        })
    }

    /// Returns the log of all events of a function.
    fn log_of(format: LogFormat, colours: bool, events: impl FnOnce()) -> String {
        log_with("info", format, colours, events)
    }

    /// Returns the log of the events of a function that directives admit.
    fn log_with(
        directives: &str,
        format: LogFormat,
        colours: bool,
        events: impl FnOnce(),
    ) -> String {
        let log = LogBuffer::default();
        let kept = log.clone();
        let logs = log_layer(format, colours, move || kept.clone());
        let filter = limit_tools_sdk(EnvFilter::new(directives), directives);
        let subscriber = Registry::default().with(logs.with_filter(filter));
        tracing::subscriber::with_default(subscriber, events);
        let text = log.0.lock().unwrap().clone();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn json_log_line_contains_event_and_span_fields() {
        let text = captured_log(LogFormat::Json);
        let line: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(line["level"], "WARN");
        assert_eq!(line["fields"]["message"], "it is tried again");
        assert_eq!(line["fields"]["tries"], 2);
        let span = &line["span"];
        assert_eq!(span["name"], "turn");
        assert_eq!(span["run"], "run_1");
        assert_eq!(span["session"], "ses_1");
        assert_eq!(span["worker"], "here-1-a");
        assert_eq!(line["spans"][0], *span);
    }

    #[test]
    fn text_log_line_contains_turn_fields() {
        let text = captured_log(LogFormat::Text);
        assert_eq!(text.lines().count(), 1, "{text}");
        for part in ["WARN", "run_1", "ses_1", "it is tried again"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn messages_of_tools_sdk_are_logged_only_if_directive_names_it() {
        for (directives, expected) in [
            ("debug", ["a warning", "an event of ours"].as_slice()),
            ("trace", &["a warning", "an event of ours"]),
            ("info", &["a warning"]),
            ("error", &[]),
            ("debug,rmcp=off", &["an event of ours"]),
            (
                "debug,rmcp=debug",
                &["a message", "a warning", "an event of ours"],
            ),
            ("off,rmcp::service=debug", &["a message", "a warning"]),
        ] {
            let text = log_with(directives, LogFormat::Json, false, || {
                tracing::debug!(target: "rmcp::service", "a message");
                tracing::warn!(target: "rmcp::service", "a warning");
                tracing::debug!("an event of ours");
            });
            let lines = text.lines().map(serde_json::from_str::<Value>);
            let messages: Vec<_> = lines
                .map(|line| line.unwrap()["fields"]["message"].clone())
                .collect();
            assert_eq!(messages, expected, "{directives}");
        }
    }

    /// Logs a hostile text as a message, as a field, in an error and in a span.
    fn log_hostile_text() {
        let hostile = "a\n2001 forged\r\u{1b}[31mred\u{9b}\u{202e}\u{200b}";
        let error = io::Error::other(hostile);
        let error: &(dyn std::error::Error + 'static) = &error;
        let _entered = tracing::info_span!("turn", session = %hostile).entered();
        tracing::warn!(method = %hostile, quoted = ?hostile, plain = hostile, "{hostile}");
        tracing::warn!(error, "{}", "x".repeat(1 << 20));
    }

    #[test]
    fn text_log_escapes_every_field_and_bounds_its_lines() {
        for colours in [false, true] {
            let text = log_of(LogFormat::Text, colours, log_hostile_text);
            assert_eq!(text.lines().count(), 2, "{text}");
            assert!(!text.contains("\u{1b}[31mred"), "{text}");
            assert!(
                !text.contains(['\r', '\u{9b}', '\u{202e}', '\u{200b}']),
                "{text}"
            );
            assert_eq!(text.contains('\u{1b}'), colours, "{text}");
            assert!(text.lines().all(|line| line.len() < 16 << 10));
            assert!(text.contains("more bytes)"), "{text}");
            assert!(text.contains(r"a\n2001 forged\r\u{1b}[31mred"), "{text}");
        }
    }

    #[test]
    fn json_log_escapes_every_field_and_bounds_its_lines() {
        let text = log_of(LogFormat::Json, false, log_hostile_text);
        assert!(
            !text.contains(['\r', '\u{9b}', '\u{202e}', '\u{200b}']),
            "{text}"
        );
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let message = lines[0]["fields"]["message"].as_str().unwrap();
        assert!(
            message.ends_with("\u{9b}\u{202e}\u{200b}"),
            "the same text: {message}"
        );
        let message = lines[1]["fields"]["message"].as_str().unwrap();
        assert!(message.ends_with("more bytes)"), "{message}");
    }
}
