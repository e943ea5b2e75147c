//! HTTP requests to the API, with retries at a random replica.
//!
//! The requests do not use the product's own client, so that an error in the client cannot hide an error in the API.

use std::{
    sync::{Arc, Mutex, Once, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use reqwest::{Client, Method, StatusCode};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::rng::Rng;

/// The timeout of one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(8);
/// The pause before a retry.
const RETRY_PAUSE: Duration = Duration::from_millis(150);

/// A user of the API, with a token. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Api {
    client: Client,
    addresses: Arc<[String]>,
    token: String,
    rng: Arc<Mutex<Rng>>,
}

/// The final response to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiResponse {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Api {
    /// Creates a client for the replicas at `addresses`. It sends each request to a random one of them.
    pub(crate) fn new(addresses: Vec<String>, token: &str, dice: Rng) -> Result<Self> {
        static PROVIDER: Once = Once::new();
        PROVIDER.call_once(|| {
            // Only this code installs a provider. If one is installed nevertheless, that one works too.
            rustls::crypto::ring::default_provider()
                .install_default()
                .ok();
        });
        let tls = rustls::ClientConfig::builder()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        let client = Client::builder()
            .no_proxy()
            .tls_backend_preconfigured(tls)
            .connect_timeout(Duration::from_secs(2));
        Ok(Self {
            client: client.build()?,
            addresses: addresses.into(),
            token: token.to_owned(),
            rng: Arc::new(Mutex::new(dice)),
        })
    }

    /// Returns the same client with another token.
    pub(crate) fn with_token(&self, token: &str) -> Self {
        Self {
            token: token.to_owned(),
            ..self.clone()
        }
    }

    /// Returns the address of a random replica.
    fn random_address(&self) -> String {
        let mut dice = self.rng.lock().unwrap_or_else(PoisonError::into_inner);
        dice.choose(&self.addresses).cloned().unwrap_or_default()
    }

    /// Sends a request, and retries at a random replica until one returns a final response: any status below 500
    /// except 429. `key` is the idempotency key, so that a retry executes nothing twice.
    ///
    /// # Errors
    ///
    /// Returns the last error if there is no final response within `patience`.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        key: Option<&str>,
        patience: Duration,
    ) -> Result<ApiResponse> {
        let until = Instant::now() + patience;
        loop {
            let failed = match self.send_once(&method, path, body, key).await {
                Ok(answer) if answer.status < 500 && answer.status != 429 => return Ok(answer),
                Ok(answer) => anyhow::anyhow!("{}: {}", answer.status, answer.body),
                Err(error) => error,
            };
            if Instant::now() >= until {
                return Err(failed)
                    .with_context(|| format!("no final response to {method} {path}"));
            }
            sleep(RETRY_PAUSE).await;
        }
    }

    /// Returns the text at a path outside of the API, such as `/metrics`, from a random replica, without a retry.
    pub(crate) async fn get_text(&self, path: &str) -> Result<String> {
        let url = format!("{}{path}", self.random_address());
        let request = self.client.get(url).bearer_auth(&self.token);
        let response = request
            .timeout(REQUEST_TIMEOUT)
            .send()
            .await?
            .error_for_status()?;
        Ok(response.text().await?)
    }

    /// Sends a request to a random replica once.
    async fn send_once(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
        key: Option<&str>,
    ) -> Result<ApiResponse> {
        let url = format!("{}/api/v1{path}", self.random_address());
        let mut request = self.client.request(method.clone(), url);
        request = request.bearer_auth(&self.token).timeout(REQUEST_TIMEOUT);
        if let Some(body) = body {
            request = request.json(body);
        }
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        let response = request.send().await?;
        let status = response.status().as_u16();
        let body = response.bytes().await?;
        let body = serde_json::from_slice(&body)
            .with_context(|| format!("the response with status {status} is not JSON"))?;
        Ok(ApiResponse { status, body })
    }

    /// Sends a GET request, with retries.
    pub(crate) async fn get(&self, path: &str, patience: Duration) -> Result<ApiResponse> {
        self.send(Method::GET, path, None, None, patience).await
    }

    /// Sends a request that must succeed, with retries, and returns the body of the response.
    ///
    /// # Errors
    ///
    /// Returns an error if the final response has a status of 300 or above, or if there is none within `patience`.
    pub(crate) async fn send_expecting_success(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        key: Option<&str>,
        patience: Duration,
    ) -> Result<Value> {
        let answer = self.send(method.clone(), path, body, key, patience).await?;
        if answer.status >= 300 {
            bail!("{method} {path}: {}: {}", answer.status, answer.body);
        }
        Ok(answer.body)
    }

    /// Opens the trace of a session at a random replica. The trace begins with the event after `after`.
    pub(crate) async fn open_trace(&self, session: &str, after: i64) -> Result<reqwest::Response> {
        let url = format!("{}/api/v1/sessions/{session}/trace", self.random_address());
        let request = self.client.get(url).bearer_auth(&self.token);
        // Limit only the time to the response's head, because the body of a trace does not end.
        let response = request.header("Last-Event-ID", after.to_string()).send();
        let response = tokio::time::timeout(REQUEST_TIMEOUT, response).await??;
        if response.status() != StatusCode::OK {
            bail!(
                "cannot open the trace of {session}: status {}",
                response.status()
            );
        }
        Ok(response)
    }
}
