//! Requests to whichever replica answers.
//!
//! Not the product's own client: what is asked and answered is looked at from outside.

use std::{
    sync::{Arc, Mutex, Once, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use reqwest::{Client, Method, StatusCode};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::dice::Dice;

/// How long one replica may take.
const ANSWER: Duration = Duration::from_secs(8);
/// How long is waited before another one is asked.
const AGAIN: Duration = Duration::from_millis(150);

/// Somebody with a token. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Api {
    client: Client,
    addresses: Arc<[String]>,
    token: String,
    dice: Arc<Mutex<Dice>>,
}

/// What was answered in the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Api {
    pub(crate) fn new(addresses: Vec<String>, token: &str, dice: Dice) -> Result<Self> {
        static PROVIDER: Once = Once::new();
        PROVIDER.call_once(|| {
            // The only one who installs any.
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
            dice: Arc::new(Mutex::new(dice)),
        })
    }

    /// The same somebody with another token.
    pub(crate) fn with_token(&self, token: &str) -> Self {
        Self {
            token: token.to_owned(),
            ..self.clone()
        }
    }

    fn anyone(&self) -> String {
        let mut dice = self.dice.lock().unwrap_or_else(PoisonError::into_inner);
        dice.one_of(&self.addresses).cloned().unwrap_or_default()
    }

    /// Asks, and asks another replica for as long as none answers for good.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        key: Option<&str>,
        patience: Duration,
    ) -> Result<Answer> {
        let until = Instant::now() + patience;
        loop {
            let failed = match self.attempt(&method, path, body, key).await {
                Ok(answer) if answer.status < 500 && answer.status != 429 => return Ok(answer),
                Ok(answer) => anyhow::anyhow!("{}: {}", answer.status, answer.body),
                Err(error) => error,
            };
            if Instant::now() >= until {
                return Err(failed).with_context(|| format!("no answer to {method} {path}"));
            }
            sleep(AGAIN).await;
        }
    }

    /// What one replica says at a path outside of the API.
    pub(crate) async fn text(&self, path: &str) -> Result<String> {
        let url = format!("{}{path}", self.anyone());
        let request = self.client.get(url).bearer_auth(&self.token);
        let response = request.timeout(ANSWER).send().await?.error_for_status()?;
        Ok(response.text().await?)
    }

    async fn attempt(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
        key: Option<&str>,
    ) -> Result<Answer> {
        let url = format!("{}/api/v1{path}", self.anyone());
        let mut request = self.client.request(method.clone(), url);
        request = request.bearer_auth(&self.token).timeout(ANSWER);
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
            .with_context(|| format!("{status} without a document"))?;
        Ok(Answer { status, body })
    }

    /// Reads.
    pub(crate) async fn get(&self, path: &str, patience: Duration) -> Result<Answer> {
        self.ask(Method::GET, path, None, None, patience).await
    }

    /// Asks for what must be done.
    pub(crate) async fn must(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        key: Option<&str>,
        patience: Duration,
    ) -> Result<Value> {
        let answer = self.ask(method.clone(), path, body, key, patience).await?;
        if answer.status >= 300 {
            bail!("{method} {path}: {}: {}", answer.status, answer.body);
        }
        Ok(answer.body)
    }

    /// Opens the trace of a session behind an event, at any replica.
    pub(crate) async fn trace(&self, session: &str, after: i64) -> Result<reqwest::Response> {
        let url = format!("{}/api/v1/sessions/{session}/trace", self.anyone());
        let request = self.client.get(url).bearer_auth(&self.token);
        let response = request.header("Last-Event-ID", after.to_string()).send();
        let response = tokio::time::timeout(ANSWER, response).await??;
        if response.status() != StatusCode::OK {
            bail!("the trace of {session}: {}", response.status());
        }
        Ok(response)
    }
}
