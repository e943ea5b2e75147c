//! The calls of the loop over the API.

use std::sync::Arc;

use client::Error;
use delivery::ForeignTrigger;
use futures::future::BoxFuture;
use model::RunId;
use runtime_api::trigger::{FireReply, FireRequest};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;
use turn::{AgentRuntime, TurnControl, TurnEnd, TurnStoreError, execute};

use crate::{
    ApiTurnStore, ServerLink, TurnContext,
    locks::Locks,
    server_link::Claim,
    server_port::{ClaimOutcome, ClaimedTurn, FireOutcome, ServerError, TriggerServer},
    turn_slots::TurnWaits,
};

/// The server of a runtime.
pub(crate) struct ApiServer {
    pub(crate) link: ServerLink,
    pub(crate) context: TurnContext,
    pub(crate) agents: AgentRuntime,
    pub(crate) locks: Arc<Locks>,
    /// The names of the agents that may start on this machine. `None` allows all.
    pub(crate) allowed_agents: Option<Vec<String>>,
    /// Takes the refusal of the token, which ends the runtime.
    pub(crate) refusals: mpsc::Sender<Error>,
    /// Cancelled when no more turns may begin.
    pub(crate) stop: CancellationToken,
}

impl ApiServer {
    /// Returns the error of a request. Reports a refusal of the token, because no later request can succeed.
    fn request_error(&self, error: Error) -> ServerError {
        let action = "carry out a request at the server";
        if !error.is_refusal_of_token() {
            return ServerError {
                action,
                source: Box::new(error),
            };
        }
        let source = error.to_string().into();
        // The first refusal is enough.
        self.refusals.try_send(error).ok();
        ServerError { action, source }
    }
}

impl TriggerServer for ApiServer {
    fn claim(&self, run: RunId) -> BoxFuture<'_, Result<ClaimOutcome, ServerError>> {
        Box::pin(async move {
            // Before each claim, kill leftover agents of dead workers. Otherwise the next turn of a session could run
            // beside the previous agent.
            let sweep = self
                .locks
                .with_worker(|worker| async move { worker.kill_leftovers().await });
            let Some(swept) = self.stop.run_until_cancelled(sweep).await else {
                return Ok(ClaimOutcome::NotNow);
            };
            swept.map_err(|source| ServerError {
                action: "kill the leftover processes of dead workers",
                source: Box::new(source),
            })?;
            let claimed = self.link.claim(run).await;
            let claimed = claimed.map_err(|error| self.request_error(error))?;
            Ok(match claimed {
                Claim::Claimed(claimed) => ClaimOutcome::Claimed(ClaimedTurn {
                    run,
                    directory: claimed.directory,
                }),
                Claim::Over => ClaimOutcome::Over,
                Claim::NotOfInstance => ClaimOutcome::NotOfInstance,
                Claim::NotNow => ClaimOutcome::NotNow,
            })
        })
    }

    fn take_turn(
        &self,
        claimed: ClaimedTurn,
        control: TurnControl,
        waits: TurnWaits,
    ) -> BoxFuture<'_, Result<TurnEnd, TurnStoreError>> {
        Box::pin(async move {
            let ClaimedTurn { run, directory } = claimed;
            let worker = self.link.client().worker();
            let span = tracing::info_span!("turn", %run, %worker);
            let store = ApiTurnStore::new(self.context.clone(), directory)
                .with_allowed_agents(self.allowed_agents.clone())
                .with_waits(waits);
            let mut agents = self.agents.clone();
            agents.guard.worker = Some(self.locks.worker().mark().to_owned());
            let turn = execute(&store, &agents, run, &control);
            turn.instrument(span).await
        })
    }

    fn fire(
        &self,
        trigger: ForeignTrigger,
        key: String,
    ) -> BoxFuture<'_, Result<FireOutcome, ServerError>> {
        Box::pin(async move {
            let request = FireRequest {
                automation: trigger.automation,
                key,
                timestamp: trigger.timestamp,
                task: trigger.task,
                params: trigger.params,
            };
            let reply = self.link.client().fire(&request).await;
            Ok(match reply.map_err(|error| self.request_error(error))? {
                FireReply::Fired { run } => FireOutcome::Fired(run),
                FireReply::Refused { reason } => FireOutcome::Refused(reason),
                // A later version of the server knows how to treat the file.
                FireReply::Unknown => {
                    return Err(ServerError {
                        action: "read the response of the server",
                        source: "upgrade the runtime".into(),
                    });
                }
            })
        })
    }
}
