//! The operations of runtimes for the tools of their agents. The caller repeats them, because it knows how long an agent
//! waits for a tool.

use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use http::{HeaderName, HeaderValue, Response, header};
use model::{RunId, access::secret::RunSecret};
use runtime_api::tools::{self, FirstLine, SECRET_HEADER, ToolsReply, ToolsRequest};
use tokio::time::timeout;

use crate::{Body, Error, RuntimeClient, boxed, request::Call};

/// The response to a message of an agent.
pub struct ToolsAnswer {
    /// The reply.
    pub reply: ToolsReply,
    /// The content of a file, if the reply brings one.
    pub content: Body,
}

impl RuntimeClient {
    /// Sends a message of an agent to its tools, once. The time limit includes the reply without the content of a file.
    #[boxed]
    pub async fn send_tool_message(
        &self,
        run: RunId,
        secret: &RunSecret,
        request: &ToolsRequest,
        limit: Duration,
    ) -> Result<ToolsAnswer, Error> {
        let call = self.call_tools(run, secret, &["tools"])?.json(request);
        let answered = async {
            self.tools_answer(call.with_timeout(limit).stream().await?)
                .await
        };
        self.within(limit, answered).await
    }

    /// Sends a message of an agent to its tools, once, with the content of the file that it names.
    #[boxed]
    pub async fn send_tool_file(
        &self,
        run: RunId,
        secret: &RunSecret,
        request: &ToolsRequest,
        content: Body,
        limit: Duration,
    ) -> Result<ToolsAnswer, Error> {
        let line = tools::line(request).map_err(|error| Error::Invalid {
            what: "request".to_owned(),
            reason: error.to_string(),
        })?;
        let call = self.call_tools(run, secret, &["tools", "file"])?.header(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/octet-stream"),
        );
        let line = stream::once(async move { Ok(line.into()) });
        let body = line.chain(content).boxed();
        let answered = async {
            self.tools_answer(call.with_timeout(limit).upload(body).await?)
                .await
        };
        self.within(limit, answered).await
    }

    fn call_tools(&self, run: RunId, secret: &RunSecret, path: &[&str]) -> Result<Call<'_>, Error> {
        let shown = HeaderValue::try_from(secret.reveal()).map_err(|_| Error::Invalid {
            what: "secret of a run".to_owned(),
            reason: "accepted are letters and digits".to_owned(),
        });
        let mut shown = shown?;
        shown.set_sensitive(true);
        let call = self.call_run(run, path)?;
        Ok(call.header(HeaderName::from_static(SECRET_HEADER), shown))
    }

    async fn within<T>(
        &self,
        limit: Duration,
        answered: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        timeout(limit, answered).await.unwrap_or_else(|_| {
            let cause = format!("no response within {} s", limit.as_secs_f64());
            Err(self.client.unreachable(cause.into()))
        })
    }

    /// Reads the reply, and leaves the content that follows its line.
    async fn tools_answer(&self, response: Response<Body>) -> Result<ToolsAnswer, Error> {
        let status = response.status();
        let mut body = response.into_body();
        let mut line = FirstLine::default();
        let mut rest = Bytes::new();
        while let Some(piece) = body
            .try_next()
            .await
            .map_err(|error| self.client.unreachable(error))?
        {
            let added = line.add(&piece);
            let content =
                added.map_err(|error| self.client.malformed(status, error.to_string()))?;
            if let Some(begin) = content {
                rest = piece.slice(begin..);
                break;
            }
        }
        let reply = serde_json::from_slice(line.bytes());
        let reply = reply.map_err(|error| self.client.malformed(status, error.to_string()))?;
        let rest = stream::once(async move { Ok(rest) });
        let content = rest.chain(body).boxed();
        Ok(ToolsAnswer { reply, content })
    }
}
