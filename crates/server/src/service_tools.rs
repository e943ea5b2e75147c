//! The tools of agents, over the service of this process: at its socket, and for runtimes.

use std::{
    sync::{Arc, atomic::AtomicU32},
    time::Duration,
};

use api::ToolMessage;
use futures::{FutureExt as _, future::BoxFuture};
use model::{
    WorkerId,
    access::{secret::RunSecret, secret_mask::SecretMask},
    schedule::Zone,
};
use serde_json::Value;
use service::Service;
use store::ToolCaller;
use tokio::time::sleep;
use tools::TurnTools;
use turn::{AgentConnection, GrantedRun, RUN_OVER, ServeConnection, ToolServer};

/// The time that an agent has to initialize MCP after its first line.
const INITIALIZE_TIMEOUT: Duration = Duration::from_secs(10);

/// Serves the tools of the turns of this process.
#[derive(Clone)]
pub(crate) struct ServiceTools {
    pub(crate) service: Service,
    pub(crate) worker: WorkerId,
    /// The age at which the heartbeat of a run is stale.
    pub(crate) stale_after: Duration,
    /// The zone of a schedule for which an agent names none.
    pub(crate) zone: Zone,
}

impl ToolServer for ServiceTools {
    fn open(
        &self,
        run: GrantedRun,
        secret: RunSecret,
    ) -> BoxFuture<'_, Result<ServeConnection, String>> {
        async move {
            let caller = ToolCaller {
                run: run.run,
                secret: secret.hash(),
                worker: self.worker.clone(),
                stale_after: self.stale_after,
            };
            match self.service.run_tools(caller, self.zone.clone()).await {
                Ok((tools, _)) => {
                    let tools = TurnTools {
                        tools,
                        calls: run.calls,
                        mask: SecretMask::of(&secret),
                    };
                    Ok(serve(tools))
                }
                Err(service::Error::Store(store::Error::RunOver { .. })) => Err(RUN_OVER.into()),
                Err(error) => {
                    tracing::error!(error = %error.chain(), "cannot serve the tools of {}", run.run);
                    Err("503: Matins cannot use its database".into())
                }
            }
        }
        .boxed()
    }
}

fn serve(tools: TurnTools) -> ServeConnection {
    Box::new(|AgentConnection { reader, writer }, ended| {
        let timeout = sleep(INITIALIZE_TIMEOUT);
        tools::serve(tools, (reader, writer), ended, timeout).boxed()
    })
}

/// Answers a message of an agent whose turn a runtime takes.
pub(crate) fn answer_message(message: ToolMessage) -> BoxFuture<'static, Option<Value>> {
    let ToolMessage {
        tools,
        mask,
        calls_before,
        message,
    } = message;
    // The runtime counts the calls of the turn, because each of its requests may reach another server.
    let calls = Arc::new(AtomicU32::new(calls_before));
    tools::answer(TurnTools { tools, calls, mask }, message).boxed()
}
