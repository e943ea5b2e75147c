//! The export of spans to a collector (OTLP over HTTP).

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use opentelemetry::{KeyValue, trace::TracerProvider as _};
use opentelemetry_otlp::{
    ExporterBuildError, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{SdkTracerProvider, SpanData, SpanExporter as Exporter},
};
use reqwest::{blocking::Client, redirect};
use tls::TlsError;
use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::{Layer, filter::filter_fn, registry::LookupSpan};

/// The maximum time for one batch to the collector.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum delay of the process's end by the last batch.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// The crates whose spans are sent. Spans of libraries are not sent: those of the HTTP client would make each export
/// cause another.
const EXPORTED_CRATES: [&str; 6] = ["api", "daemon", "matins", "service", "store", "turn"];

/// The error of an exporter that cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot export traces to `{endpoint}`")]
pub struct SpansError {
    endpoint: String,
    source: SpansErrorSource,
}

#[derive(Debug, thiserror::Error)]
enum SpansErrorSource {
    #[error("cannot send over TLS")]
    Tls(#[from] TlsError),
    #[error("cannot create an HTTP client")]
    Client(#[from] reqwest::Error),
    #[error(transparent)]
    Exporter(#[from] ExporterBuildError),
}

/// An exporter that sends spans in batches from a thread of its own.
#[derive(Debug)]
pub struct Spans(SdkTracerProvider);

impl Spans {
    /// Starts to send spans of `service` to the collector at an address such as `http://127.0.0.1:4318`. The caller
    /// must not be in an async runtime, because the HTTP client of the sending thread blocks.
    ///
    /// # Errors
    ///
    /// Returns an error if the HTTP client or the exporter cannot be made. An unreachable collector is no error here.
    pub fn export_to(
        endpoint: &str,
        service: &str,
        version: &'static str,
    ) -> Result<Self, SpansError> {
        let exporter = build_exporter(endpoint).map_err(|source| SpansError {
            endpoint: endpoint.to_owned(),
            source,
        })?;
        // The default resource would add attributes from the environment, such as `OTEL_RESOURCE_ATTRIBUTES`.
        let resource = Resource::builder_empty()
            .with_attribute(KeyValue::new("service.name", service.to_owned()))
            .with_attribute(KeyValue::new("service.version", version))
            .build();
        Ok(Self(
            SdkTracerProvider::builder()
                .with_batch_exporter(LoggingExporter {
                    exporter,
                    endpoint: endpoint.to_owned(),
                    is_failing: AtomicBool::new(false),
                })
                .with_resource(resource)
                .build(),
        ))
    }

    /// Returns a layer that takes spans from `tracing`. The layer drops events, because errors may repeat the output
    /// of agents or databases.
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        tracing_opentelemetry::layer()
            .with_tracer(self.0.tracer("matins"))
            .with_location(false)
            .with_threads(false)
            .with_filter(filter_fn(is_exported))
    }

    /// Sends the remaining spans and stops. Waits for an unresponsive collector only for a short time.
    pub fn shut_down(self) {
        if let Err(error) = self.0.shutdown_with_timeout(SHUTDOWN_TIMEOUT) {
            tracing::debug!(%error, "the last spans were not sent");
        }
    }
}

fn is_exported(metadata: &Metadata<'_>) -> bool {
    let ours = metadata.target().split("::").next();
    metadata.is_span()
        && *metadata.level() <= Level::INFO
        && ours.is_some_and(|ours| EXPORTED_CRATES.contains(&ours))
}

fn build_exporter(endpoint: &str) -> Result<SpanExporter, SpansErrorSource> {
    let client = Client::builder()
        .tls_backend_preconfigured(tls::client_config()?)
        // The collector gets spans directly: neither a proxy of the environment nor a redirect may send them elsewhere.
        .no_proxy()
        .redirect(redirect::Policy::none())
        .timeout(EXPORT_TIMEOUT)
        .build()?;
    let url = format!("{}/v1/traces", endpoint.trim_end_matches('/'));
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(client)
        .with_endpoint(url)
        .with_timeout(EXPORT_TIMEOUT);
    Ok(exporter.build()?)
}

/// An exporter that logs the first failed batch and the first successful batch after it, so that a long outage of the
/// collector does not fill the log.
#[derive(Debug)]
struct LoggingExporter {
    exporter: SpanExporter,
    endpoint: String,
    is_failing: AtomicBool,
}

impl Exporter for LoggingExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let sent = self.exporter.export(batch).await;
        let failed = self.is_failing.swap(sent.is_err(), Ordering::Relaxed);
        match &sent {
            Err(error) if !failed => {
                tracing::warn!(%error, "cannot send traces to {}, later batches are tried", self.endpoint);
            }
            Ok(()) if failed => tracing::info!("traces are sent to {} again", self.endpoint),
            _ => {}
        }
        sent
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{self, Read as _, Write as _},
        net::TcpListener,
        pin::pin,
        sync::{Arc, Mutex},
        task::{Context, Poll, Waker},
        thread,
    };

    use super::*;

    /// A writer that keeps the log.
    #[derive(Clone, Default)]
    struct CapturedLog(Arc<Mutex<Vec<u8>>>);

    impl io::Write for CapturedLog {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Exports a batch without spans, which sends a request nevertheless.
    fn export_empty_batch(exporter: &LoggingExporter) -> OTelSdkResult {
        let sent = pin!(exporter.export(Vec::new()));
        // The HTTP client blocks, so the first poll returns the result.
        match sent.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(sent) => sent,
            Poll::Pending => panic!("the export did not complete in the first poll"),
        }
    }

    #[test]
    fn collector_outage_and_recovery_are_logged_once_each() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let endpoint = format!("http://{address}");
        let exporter = LoggingExporter {
            exporter: build_exporter(&endpoint).unwrap(),
            endpoint: endpoint.clone(),
            is_failing: AtomicBool::new(false),
        };
        let log = CapturedLog::default();
        let kept = log.clone();
        let logs = tracing_subscriber::fmt()
            .with_writer(move || kept.clone())
            .with_ansi(false)
            .finish();
        tracing::subscriber::with_default(logs, || {
            for _ in 0..3 {
                assert!(export_empty_batch(&exporter).is_err());
            }
            let listener = TcpListener::bind(address).unwrap();
            let collector = thread::spawn(move || {
                for _ in 0..2 {
                    let (mut stream, _) = listener.accept().unwrap();
                    let _ = stream.read(&mut [0; 4096]).unwrap();
                    let response =
                        b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                    stream.write_all(response).unwrap();
                }
            });
            for _ in 0..2 {
                export_empty_batch(&exporter).unwrap();
            }
            collector.join().unwrap();
        });
        let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
        let failed = format!("cannot send traces to {endpoint}, later batches are tried");
        assert_eq!(text.matches(&failed).count(), 1, "{text}");
        let again = format!("traces are sent to {endpoint} again");
        assert_eq!(text.matches(&again).count(), 1, "{text}");
    }
}
