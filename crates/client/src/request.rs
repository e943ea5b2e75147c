//! One request, from its path to what its answer means.

use std::{fmt::Write as _, time::Duration};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use serde::{Serialize, de::DeserializeOwned};
use tokio::time::{sleep, timeout};

use crate::{
    BoxError, Client, Error,
    error::problem,
    transport::{Body, Broken, whole},
};

/// How long an answer may take. Servers give up earlier, and say so.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long is waited before a request whose connection broke is sent again, each time.
const PAUSES: [Duration; 3] = [
    Duration::from_millis(100),
    Duration::from_millis(400),
    Duration::from_millis(1600),
];

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A request that is being put together.
#[must_use]
pub(crate) struct Call<'a> {
    client: &'a Client,
    method: Method,
    /// The path below the API with what stands behind the question mark, encoded; or why there is none.
    target: Result<String, Error>,
    asks: bool,
    body: Bytes,
    headers: Vec<(HeaderName, HeaderValue)>,
    repeated: bool,
    patience: Option<Duration>,
}

/// An answer that was read to its end.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) tag: Option<String>,
    pub(crate) body: Bytes,
}

impl Client {
    /// Begins a request to the path that is made of these parts.
    pub(crate) fn call(&self, method: Method, parts: &[&str]) -> Call<'_> {
        Call {
            client: self,
            repeated: method == Method::GET,
            method,
            target: path(parts),
            asks: false,
            body: Bytes::new(),
            headers: Vec::new(),
            patience: Some(PATIENCE),
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
    /// Whose request it is.
    pub(crate) fn client(&self) -> &'a Client {
        self.client
    }

    /// Adds what stands behind the question mark, if it is there.
    pub(crate) fn ask(mut self, name: &str, value: Option<impl ToString>) -> Self {
        if let (Some(value), Ok(target)) = (value, &mut self.target) {
            target.push(if self.asks { '&' } else { '?' });
            self.asks = true;
            target.push_str(name);
            target.push('=');
            encode(target, &value.to_string());
        }
        self
    }

    /// Adds the same where it is not what it is anyway.
    pub(crate) fn flag(self, name: &str, set: bool) -> Self {
        self.ask(name, set.then_some("true"))
    }

    pub(crate) fn json(mut self, body: &impl Serialize) -> Self {
        match serde_json::to_vec(body) {
            Ok(body) => self.body = body.into(),
            Err(error) => {
                self.target = Err(Error::Invalid {
                    what: "the request".to_owned(),
                    reason: error.to_string(),
                });
            }
        }
        self.with(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        )
    }

    pub(crate) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Says what was seen of what is to be changed.
    pub(crate) fn seen(self, tag: Option<&str>) -> Self {
        match tag.map(HeaderValue::try_from) {
            Some(Ok(tag)) => self.with(header::IF_MATCH, tag),
            _ => self,
        }
    }

    /// Says that it is to be done once, however often it is sent.
    pub(crate) fn once(mut self) -> Self {
        let mut random = [0; 16];
        self.client.entropy.fill(&mut random);
        let mut key = String::with_capacity(2 * random.len());
        for byte in random {
            write!(key, "{byte:02x}").ok();
        }
        if let Ok(key) = HeaderValue::try_from(key) {
            self.headers.push((IDEMPOTENCY_KEY, key));
            self.repeated = true;
        }
        self
    }

    /// Takes as long as it takes.
    pub(crate) fn patiently(mut self) -> Self {
        self.patience = None;
        self
    }

    /// Sends it and understands the answer.
    pub(crate) async fn fetch<T: DeserializeOwned>(self) -> Result<T, Error> {
        let client = self.client;
        let answer = self.answer().await?;
        client.understand(&answer)
    }

    /// Sends it and reads its answer, which says that it was done. What breaks is sent again where that
    /// does no harm.
    pub(crate) async fn answer(self) -> Result<Answer, Error> {
        let client = self.client;
        let answer = self.any_answer().await?;
        if answer.status.is_success() {
            return Ok(answer);
        }
        Err(client.refusal(answer.status, &answer.body))
    }

    async fn any_answer(mut self) -> Result<Answer, Error> {
        let target = self.take_target()?;
        let mut pauses = PAUSES.iter();
        let mut was_reached = false;
        loop {
            let attempt = self.attempt(&target);
            let attempted = match self.patience {
                None => attempt.await,
                Some(patience) => {
                    let Ok(attempted) = timeout(patience, attempt).await else {
                        let told = format!("no answer came within {} s", patience.as_secs());
                        return Err(self.client.unreachable(told.into()));
                    };
                    attempted
                }
            };
            let (broken, reached) = match attempted {
                Ok(answer) => return Ok(answer),
                Err(Broken::Lost(error)) => (error, true),
                Err(Broken::NotReached(error)) => (error, false),
            };
            was_reached |= reached;
            // Nobody who listens is no connection that broke, unless somebody has listened before.
            let again = pauses.next().filter(|_| self.repeated && was_reached);
            let Some(pause) = again else {
                return Err(self.client.unreachable(broken));
            };
            sleep(*pause).await;
        }
    }

    /// Sends it and gives the head of the answer, whose body comes as it comes.
    pub(crate) async fn stream(mut self) -> Result<Response<Body>, Error> {
        let target = self.take_target()?;
        let client = self.client;
        let carried = timeout(PATIENCE, client.transport.carry(self.request(&target)?));
        let response = match carried.await {
            Ok(Ok(response)) => response,
            Ok(Err(Broken::Lost(error) | Broken::NotReached(error))) => {
                return Err(client.unreachable(error));
            }
            Err(_) => return Err(client.unreachable("no answer came".into())),
        };
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = timeout(PATIENCE, whole(response.into_body())).await;
        match body {
            Ok(Ok(body)) => Err(client.refusal(status, &body)),
            Ok(Err(error)) => Err(client.unreachable(error)),
            Err(_) => Err(client.unreachable("its answer did not end".into())),
        }
    }

    fn take_target(&mut self) -> Result<String, Error> {
        std::mem::replace(&mut self.target, Ok(String::new()))
    }

    async fn attempt(&self, target: &str) -> Result<Answer, Broken> {
        let request = self
            .request(target)
            .map_err(|error| Broken::NotReached(error.into()))?;
        let response = self.client.transport.carry(request).await?;
        let (head, body) = response.into_parts();
        let text = |name| {
            let value = head.headers.get(name)?;
            value.to_str().ok().map(str::to_owned)
        };
        Ok(Answer {
            status: head.status,
            tag: text(header::ETAG),
            body: whole(body).await.map_err(Broken::Lost)?,
        })
    }

    fn request(&self, target: &str) -> Result<Request<Bytes>, Error> {
        let mut request = Request::builder()
            .method(self.method.clone())
            .uri(format!("{}{target}", self.client.base))
            .header(
                header::ACCEPT,
                HeaderValue::from_static("application/json, */*;q=0.1"),
            )
            .body(self.body.clone())
            .map_err(|error| Error::Invalid {
                what: format!("the path {target:?}"),
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
    /// Understands an answer that says that something was done.
    pub(crate) fn understand<T: DeserializeOwned>(&self, answer: &Answer) -> Result<T, Error> {
        serde_json::from_slice(&answer.body)
            .map_err(|error| self.malformed(answer.status, error.to_string()))
    }

    /// What an answer means that does not say that it was done.
    fn refusal(&self, status: StatusCode, body: &[u8]) -> Error {
        match problem(status, body) {
            Some(problem) => Error::Problem(Box::new(problem)),
            None => self.malformed(status, "it is none of this API".to_owned()),
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

/// Puts a path together. What stands for nothing or for another path names nothing.
fn path(parts: &[&str]) -> Result<String, Error> {
    let mut path = String::new();
    for part in parts {
        if matches!(*part, "" | "." | "..") {
            return Err(Error::nameless(part));
        }
        path.push('/');
        encode(&mut path, part);
    }
    Ok(path)
}

/// Writes a text so that none of it has a meaning of its own (RFC 3986, section 2.3).
fn encode(to: &mut String, text: &str) {
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
    fn no_name_leads_anywhere_else() {
        assert_eq!(
            path(&["sessions", "slack:C1/../ž ?#%"]).unwrap(),
            "/sessions/slack%3AC1%2F..%2F%C5%BE%20%3F%23%25"
        );
        for name in ["", ".", ".."] {
            assert!(path(&["sessions", name]).is_err(), "{name:?}");
        }
    }
}
