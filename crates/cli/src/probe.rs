//! Starting agents to see what they offer.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use agent::{Agent, Decision, Grace, GuardProgram, Launch, Limits, PermissionRequest, Permissions};
use futures::future::BoxFuture;
use model::{
    Entropy,
    harness::{HarnessConfig, Offers},
};
use service::{Probe, ProbeError, Probed, Probing, SignIn};

/// How long an agent may live beyond the time it has to start.
const LEASE_BEYOND_START: Duration = Duration::from_mins(1);

/// Starts agents as turns do, without opening a session.
pub(crate) struct AgentProbe {
    pub(crate) guard: GuardProgram,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) cwd: PathBuf,
    pub(crate) entropy: Arc<dyn Entropy>,
}

impl Probe for AgentProbe {
    fn probe<'a>(&'a self, config: &'a HarnessConfig) -> Probing<'a> {
        Box::pin(async move {
            let start = Duration::from_secs(config.start_seconds.into());
            let mut random = [0; 8];
            self.entropy.fill(&mut random);
            let launch = Launch {
                command: config.command.clone(),
                cwd: self.cwd.clone(),
                env: config.environment(&self.environment),
                guard: self.guard.clone(),
                marker: format!("probe-{:016x}", u64::from_be_bytes(random)),
                limits: Limits {
                    start,
                    ..Limits::default()
                },
                lease: start + LEASE_BEYOND_START,
                authenticate: config.authenticate.clone(),
            };
            let agent = Agent::start(launch, Arc::new(NothingIsAsked))
                .await
                .map_err(|error| ProbeError(error.into()))?;
            let said = agent.offers().clone();
            agent.shutdown(Grace::default()).await;
            let named = |text: String| Some(text).filter(|text| !text.is_empty());
            Ok(Probed {
                sign_in: said
                    .auth_methods
                    .iter()
                    .map(|method| SignIn {
                        id: method.id.clone(),
                        name: method.name.clone(),
                        terminal: method.terminal,
                    })
                    .collect(),
                offers: Offers {
                    name: named(said.name),
                    version: named(said.version),
                    resume: said.resume,
                    load: said.load,
                    list: said.list,
                    close: said.close,
                    auth_methods: said
                        .auth_methods
                        .into_iter()
                        .map(|method| method.id)
                        .collect(),
                },
            })
        })
    }
}

/// Without a session there is nothing to ask permission for.
struct NothingIsAsked;

impl Permissions for NothingIsAsked {
    fn decide(&self, _request: PermissionRequest) -> BoxFuture<'_, Decision> {
        Box::pin(async { Decision::Deny })
    }
}
