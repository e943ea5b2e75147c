//! An entry point into the reader of an agent's output, for a fuzz target. Only cargo-fuzz compiles it.

use std::sync::Arc;

use agent_client_protocol::v1::schema;
use futures::future::{BoxFuture, ready};
use model::AcpSessionId;
use serde_json::Value;
use tokio::sync::{Semaphore, mpsc};

use crate::{
    Decision, PermissionRequest, Permissions, Update,
    diagnostics::Diagnostics,
    limits::{MAX_PENDING_REQUESTS, MAX_QUEUED_LINES},
    output::{LineDispatcher, read_stdout},
    sdk::{convert, router::Router},
};

/// The result of reading an output.
#[derive(Debug)]
pub struct OutputSummary {
    /// The updates of the turn in the session `s`, in order.
    pub updates: Vec<Update>,
    /// `true` if the reader gave up on the output.
    pub unreadable: bool,
    /// The size of the kept tail of non-message lines, in bytes.
    pub noise_tail_bytes: usize,
}

struct DenyAll;

impl Permissions for DenyAll {
    fn decide(&self, _: PermissionRequest) -> BoxFuture<'_, Decision> {
        Box::pin(ready(Decision::Deny))
    }
}

/// Reads an output to its end as in a prompt of the session `s`, through the same reader, router and conversions as
/// in production. A message for the protocol's SDK is converted as every kind of reply.
pub fn read_output(output: &[u8], max_line_bytes: usize) -> OutputSummary {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let Ok(runtime) = runtime else {
        panic!("no runtime")
    };
    runtime.block_on(async {
        let router = Router::new(Arc::new(DenyAll));
        let diagnostics = Diagnostics::new();
        let requests = Semaphore::new(MAX_PENDING_REQUESTS);
        let (messages, mut received) = mpsc::channel(MAX_QUEUED_LINES);
        let (updates, mut delivered) = mpsc::channel(4);
        router.attach(AcpSessionId::new("s"), updates);
        let dispatcher = LineDispatcher {
            router: &router,
            diagnostics: &diagnostics,
            messages,
            request_permits: &requests,
            max_line_bytes,
        };
        let reading = async {
            read_stdout(output, dispatcher).await;
        };
        let converting = async {
            while let Some(message) = received.recv().await {
                if convert_message(&router, &message).await {
                    requests.add_permits(1);
                }
            }
        };
        let mut read = Vec::new();
        // Drain the updates while both tasks run: their channel is small, and a full one would block the reader forever.
        let mut both = std::pin::pin!(async { tokio::join!(reading, converting) });
        loop {
            tokio::select! {
                Some(update) = delivered.recv() => read.push(update),
                _ = &mut both => break,
            }
        }
        router.detach();
        while let Ok(update) = delivered.try_recv() {
            read.push(update);
        }
        OutputSummary {
            updates: read,
            unreadable: diagnostics.unreadable().is_some(),
            noise_tail_bytes: diagnostics.noise_tail().len(),
        }
    })
}

/// Converts a message as every kind of reply and request. Returns `true` if the message is a request.
async fn convert_message(router: &Router, message: &str) -> bool {
    let Ok(message) = serde_json::from_str::<Value>(message) else {
        return false;
    };
    let result = &message["result"];
    convert::convert_all_replies(result);
    let params = message["params"].clone();
    if let Ok(request) = serde_json::from_value::<schema::RequestPermissionRequest>(params) {
        let turn = router.current_turn();
        let request = convert::permission(request);
        router.decide(turn.as_deref(), request, |_| ()).await;
    }
    !message["method"].is_null() && !message["id"].is_null()
}
