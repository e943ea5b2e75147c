//! The construction of a request, its retries, and the interpretation of the response.

use std::{fmt::Write as _, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use serde::{Serialize, de::DeserializeOwned};
use tokio::time::{sleep, timeout};

use crate::{
    BoxError, Client, Error,
    error::parse_problem,
    transport::{Body, TransportError, read_to_end},
};
use api_types::{API_VERSION, API_VERSION_HEADER};

/// The maximum time until a response is complete. The server has a shorter limit and reports it.
const REPLY_TIMEOUT: Duration = Duration::from_mins(1);
/// The pause before each retry of a request whose connection broke.
const RETRY_DELAYS: [Duration; 3] = [
    Duration::from_millis(100),
    Duration::from_millis(400),
    Duration::from_millis(1600),
];

/// The media type of a refusal.
const PROBLEM_MEDIA_TYPE: &str = "application/problem+json";
/// The media types of the API's successful responses.
const SUCCESS_MEDIA_TYPES: [&str; 2] = ["application/json", "text/event-stream"];

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A request under construction.
#[must_use]
pub(crate) struct Call<'a> {
    client: &'a Client,
    method: Method,
    /// The path below the API with the encoded query, or the error that made the request impossible.
    target: Result<String, Error>,
    has_query: bool,
    body: Bytes,
    headers: Vec<(HeaderName, HeaderValue)>,
    is_repeatable: bool,
    /// `true` if the server may speak another version of the API.
    with_any_version: bool,
    timeout: Option<Duration>,
}

/// A response with its complete body.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    head: HeaderMap,
    pub(crate) tag: Option<String>,
    pub(crate) body: Bytes,
}

impl Client {
    /// Starts a request to the path that consists of these segments.
    pub(crate) fn call(&self, method: Method, parts: &[&str]) -> Call<'_> {
        Call {
            client: self,
            // A GET changes nothing, so it can be sent again. Other methods need an idempotency key.
            is_repeatable: method == Method::GET,
            method,
            target: join_path(parts),
            has_query: false,
            body: Bytes::new(),
            headers: Vec::new(),
            with_any_version: false,
            timeout: Some(REPLY_TIMEOUT),
        }
    }

    pub(crate) fn get(&self, parts: &[&str]) -> Call<'_> {
        self.call(Method::GET, parts)
    }

    pub(crate) fn post(&self, parts: &[&str]) -> Call<'_> {
        self.call(Method::POST, parts)
    }

    pub(crate) fn delete(&self, parts: &[&str]) -> Call<'_> {
        self.call(Method::DELETE, parts)
    }
}

impl<'a> Call<'a> {
    /// Returns the client that sends the request.
    pub(crate) fn client(&self) -> &'a Client {
        self.client
    }

    /// Adds a query parameter, if it has a value.
    pub(crate) fn query_param(mut self, name: &str, value: Option<impl ToString>) -> Self {
        if let (Some(value), Ok(target)) = (value, &mut self.target) {
            target.push(if self.has_query { '&' } else { '?' });
            self.has_query = true;
            target.push_str(name);
            target.push('=');
            percent_encode(target, &value.to_string());
        }
        self
    }

    /// Adds a query parameter with the value `true`, if it is set.
    pub(crate) fn flag(self, name: &str, set: bool) -> Self {
        self.query_param(name, set.then_some("true"))
    }

    pub(crate) fn json(mut self, body: &impl Serialize) -> Self {
        match serde_json::to_vec(body) {
            Ok(body) => self.body = body.into(),
            Err(error) => {
                self.target = Err(Error::Invalid {
                    what: "request".to_owned(),
                    reason: error.to_string(),
                });
            }
        }
        self.header(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        )
    }

    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Adds the entity tag of the version that the caller has read, as `If-Match`, so that the server refuses to
    /// change a newer version.
    pub(crate) fn if_match(self, tag: Option<&str>) -> Self {
        match tag.map(HeaderValue::try_from) {
            Some(Ok(tag)) => self.header(header::IF_MATCH, tag),
            _ => self,
        }
    }

    /// Adds a random idempotency key, so that the request can be sent again and has its effect once.
    pub(crate) fn idempotent(mut self) -> Self {
        let mut random = [0; 16];
        self.client.entropy.fill(&mut random);
        let mut key = String::with_capacity(2 * random.len());
        for byte in random {
            write!(key, "{byte:02x}").ok();
        }
        if let Ok(key) = HeaderValue::try_from(key) {
            self.headers.push((IDEMPOTENCY_KEY, key));
            self.is_repeatable = true;
        }
        self
    }

    /// Marks the request as one that has its effect once, however often it is sent.
    pub(crate) const fn repeatable(mut self) -> Self {
        self.is_repeatable = true;
        self
    }

    /// Accepts a response of a server that speaks another version of the API.
    pub(crate) const fn with_any_version(mut self) -> Self {
        self.with_any_version = true;
        self
    }

    /// Sets the time limit of each try of the request.
    pub(crate) const fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Removes the time limit of the request.
    pub(crate) fn without_timeout(mut self) -> Self {
        self.timeout = None;
        self
    }

    /// Sends the request and parses the response.
    pub(crate) async fn fetch<T: DeserializeOwned>(self) -> Result<T, Error> {
        let client = self.client;
        let answer = self.send().await?;
        client.parse_response(&answer)
    }

    /// Sends the request and returns a successful response. If the connection breaks, sends it again where that is
    /// safe.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Problem`] if the server refuses the request.
    pub(crate) async fn send(self) -> Result<Answer, Error> {
        let (client, with_any_version) = (self.client, self.with_any_version);
        let answer = self.send_with_retries().await?;
        if !with_any_version {
            client.check_version(answer.status, &answer.head)?;
        }
        if answer.status.is_success() {
            return Ok(answer);
        }
        Err(client.response_error(answer.status, &answer.body))
    }

    async fn send_with_retries(mut self) -> Result<Answer, Error> {
        let target = self.take_target()?;
        let mut pauses = RETRY_DELAYS.iter();
        let mut was_reached = false;
        loop {
            let attempt = self.send_once(&target);
            let attempted = match self.timeout {
                None => attempt.await,
                Some(limit) => {
                    let Ok(attempted) = timeout(limit, attempt).await else {
                        let cause = format!("no response within {} s", limit.as_secs_f64());
                        return Err(self.client.unreachable(cause.into()));
                    };
                    attempted
                }
            };
            let (broken, reached) = match attempted {
                Ok(answer) => return Ok(answer),
                Err(TransportError::MaybeSent(error)) => (error, true),
                Err(TransportError::NotSent(error)) => (error, false),
            };
            was_reached |= reached;
            // Before the first contact a refused connection means that no server listens, so the error is reported at
            // once. After a contact the server may be restarting, so the request is sent again.
            let again = pauses.next().filter(|_| self.is_repeatable && was_reached);
            let Some(pause) = again else {
                return Err(self.client.unreachable(broken));
            };
            sleep(*pause).await;
        }
    }

    /// Sends the request once, without retries, and returns the response as soon as its head has arrived.
    pub(crate) async fn stream(mut self) -> Result<Response<Body>, Error> {
        let target = self.take_target()?;
        let request = self.build_request(&target)?;
        self.receive(self.client.transport.send(request)).await
    }

    /// Sends the request once, with a body that is read while it is sent. Returns the response as soon as its head has
    /// arrived.
    pub(crate) async fn upload(mut self, body: Body) -> Result<Response<Body>, Error> {
        let target = self.take_target()?;
        let request = self.build_request(&target)?.map(|_| body);
        self.receive(self.client.transport.send_stream(request))
            .await
    }

    /// Returns the successful response to a request that is being sent.
    async fn receive(
        &self,
        sending: impl Future<Output = Result<Response<Body>, TransportError>>,
    ) -> Result<Response<Body>, Error> {
        let client = self.client;
        let limit = self.timeout.unwrap_or(REPLY_TIMEOUT);
        let response = match timeout(limit, sending).await {
            Ok(Ok(response)) => response,
            Ok(Err(TransportError::MaybeSent(error) | TransportError::NotSent(error))) => {
                return Err(client.unreachable(error));
            }
            Err(_) => {
                let cause = format!("no response within {} s", limit.as_secs_f64());
                return Err(client.unreachable(cause.into()));
            }
        };
        let status = response.status();
        if !self.with_any_version {
            client.check_version(status, response.headers())?;
        }
        if status.is_success() {
            return Ok(response);
        }
        let body = timeout(REPLY_TIMEOUT, read_to_end(response.into_body())).await;
        match body {
            Ok(Ok(body)) => Err(client.response_error(status, &body)),
            Ok(Err(error)) => Err(client.unreachable(error)),
            Err(_) => Err(client.unreachable("the response did not end in time".into())),
        }
    }

    fn take_target(&mut self) -> Result<String, Error> {
        std::mem::replace(&mut self.target, Ok(String::new()))
    }

    async fn send_once(&self, target: &str) -> Result<Answer, TransportError> {
        let request = self
            .build_request(target)
            .map_err(|error| TransportError::NotSent(error.into()))?;
        let response = self.client.transport.send(request).await?;
        let (head, body) = response.into_parts();
        let text = |name| {
            let value = head.headers.get(name)?;
            value.to_str().ok().map(str::to_owned)
        };
        Ok(Answer {
            status: head.status,
            tag: text(header::ETAG),
            head: head.headers,
            body: read_to_end(body).await.map_err(TransportError::MaybeSent)?,
        })
    }

    fn build_request(&self, target: &str) -> Result<Request<Bytes>, Error> {
        let mut request = Request::builder()
            .method(self.method.clone())
            .uri(format!("{}{target}", self.client.base_url))
            .header(
                header::ACCEPT,
                HeaderValue::from_static("application/json, */*;q=0.1"),
            )
            .body(self.body.clone())
            .map_err(|error| Error::Invalid {
                what: format!("path `{}`", target.escape_debug()),
                reason: error.to_string(),
            })?;
        let headers = request.headers_mut();
        for (name, value) in &self.headers {
            headers.insert(name, value.clone());
        }
        if let Some(authorization) = &self.client.authorization {
            headers.insert(header::AUTHORIZATION, authorization.clone());
        }
        Ok(request)
    }
}

impl Client {
    /// Parses the body of a successful response.
    pub(crate) fn parse_response<T: DeserializeOwned>(&self, answer: &Answer) -> Result<T, Error> {
        serde_json::from_slice(&answer.body)
            .map_err(|error| self.malformed(answer.status, error.to_string()))
    }

    /// Checks that the server speaks this program's version of the API.
    ///
    /// Servers of API 1 did not send their version. A response without a version counts as theirs if it is a success
    /// or a problem. Other errors may come from a proxy.
    fn check_version(&self, status: StatusCode, headers: &HeaderMap) -> Result<(), Error> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let theirs = match text(HeaderName::from_static(API_VERSION_HEADER)) {
            Some(version) => version.parse().ok(),
            None => text(header::CONTENT_TYPE)
                .filter(|media| {
                    *media == PROBLEM_MEDIA_TYPE
                        || status.is_success() && SUCCESS_MEDIA_TYPES.contains(media)
                })
                .map(|_| 1),
        };
        match theirs {
            Some(theirs) if theirs != API_VERSION => Err(Error::OtherVersion {
                server: self.server.to_string(),
                theirs,
            }),
            _ => Ok(()),
        }
    }

    /// Converts an unsuccessful response to an error.
    fn response_error(&self, status: StatusCode, body: &[u8]) -> Error {
        match parse_problem(status, body) {
            Some(problem) => Error::Problem(Box::new(problem)),
            None => self.malformed(status, "it is not a response of this API".to_owned()),
        }
    }

    pub(crate) fn malformed(&self, status: StatusCode, reason: String) -> Error {
        Error::Malformed {
            server: self.server.to_string(),
            status: status.as_u16(),
            reason,
        }
    }

    pub(crate) fn unreachable(&self, source: BoxError) -> Error {
        Error::Unreachable {
            server: self.server.to_string(),
            source,
        }
    }
}

/// Joins the segments of a path. Refuses segments that are empty or relative, because they would name another
/// resource.
fn join_path(parts: &[&str]) -> Result<String, Error> {
    let mut path = String::new();
    for part in parts {
        if matches!(*part, "" | "." | "..") {
            return Err(Error::invalid_name(part));
        }
        path.push('/');
        percent_encode(&mut path, part);
    }
    Ok(path)
}

/// Appends a text with all reserved characters percent-encoded (RFC 3986, section 2.3).
fn percent_encode(to: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            to.push(byte.into());
        } else {
            write!(to, "%{byte:02X}").ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_segments_are_encoded_and_relative_ones_refused() {
        assert_eq!(
            join_path(&["sessions", "slack:C1/../ž ?#%"]).unwrap(),
            "/sessions/slack%3AC1%2F..%2F%C5%BE%20%3F%23%25"
        );
        for name in ["", ".", ".."] {
            assert!(join_path(&["sessions", name]).is_err(), "{name:?}");
        }
        let empty = join_path(&["sessions", ""]).unwrap_err().to_string();
        assert!(empty.contains("a name or an ID is needed"), "{empty}");
    }
}
