//! Probes agents: starts an agent and reports the features that it offers.
//!
//! A probe runs an agent under a guard, as a turn does. With [`CheckDepth::Restore`] it also takes a turn and restores
//! the session in a second process. The agent gets no permission for any tool call.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use agent::{
    Agent, Decision, GracePeriods, GuardProgram, Launch, Limits, OpenError, OpenSession,
    PermissionRequest, Permissions, guard,
};
use api_types::{CheckDepth, CheckFindings, LimitsEnforcedBy, RestoreProbe, SessionProbe, SignIn};
use futures::future::BoxFuture;
use model::{
    AcpSessionId, Entropy,
    agent::{AgentConfig, OfferedCapabilities},
    outcome::StopReason,
};
use service::{Probe, ProbeError, ProbeFuture};
use tokio::{sync::mpsc, time::Instant};

use crate::error::with_sources;

/// The time that the guard's lease adds to the durations of the single steps.
const PROBE_LEASE_MARGIN: Duration = Duration::from_mins(1);
/// The maximum duration of the turn of a probe.
const PROBE_TURN_TIMEOUT: Duration = Duration::from_mins(3);
/// The prompt of that turn.
const PROBE_PROMPT: &str = "Answer with the one word ready. Use no tools.";

/// Probes agents in processes that start as turns start theirs.
pub struct AgentProbe {
    /// The program that guards the agents.
    pub guard: GuardProgram,
    /// The environment from which the agents inherit variables.
    pub environment: BTreeMap<String, String>,
    /// The folder in which the agents start.
    pub cwd: PathBuf,
    /// The source of randomness for the markers of their processes.
    pub entropy: Arc<dyn Entropy>,
}

impl Probe for AgentProbe {
    fn probe<'a>(&'a self, config: &'a AgentConfig, depth: CheckDepth) -> ProbeFuture<'a> {
        Box::pin(async move {
            let mut random = [0; 8];
            self.entropy.fill(&mut random);
            let name = format!("probe-{:016x}", u64::from_be_bytes(random));
            if depth == CheckDepth::Offers {
                return self.probe_in(config, depth, &name, &self.cwd).await;
            }
            // A session may leave files behind. A folder of its own lets the probe remove them.
            let folder = self.cwd.join(&name);
            std::fs::create_dir(&folder).map_err(|error| ProbeError(error.into()))?;
            let findings = self.probe_in(config, depth, &name, &folder).await;
            if let Err(error) = std::fs::remove_dir_all(&folder) {
                tracing::warn!(%error, "cannot remove {}", folder.display());
            }
            findings
        })
    }
}

impl AgentProbe {
    /// Probes an agent whose processes carry the marker `name`, in an existing folder.
    async fn probe_in(
        &self,
        config: &AgentConfig,
        depth: CheckDepth,
        name: &str,
        folder: &Path,
    ) -> Result<CheckFindings, ProbeError> {
        // 1. Start the agent.
        let started = Instant::now();
        let agent = self.start(config, name, folder).await;
        let agent = agent.map_err(|error| ProbeError(error.into()))?;
        let mut probed = CheckFindings {
            protocol_version: agent::PROTOCOL_VERSION,
            start: started.elapsed(),
            limits_enforced_by: match guard::kernel_limits_cgroup() {
                Ok(_) => LimitsEnforcedBy::Kernel,
                Err(reason) => LimitsEnforcedBy::Guard {
                    because: reason.to_owned(),
                },
            },
            ..announced_capabilities(&agent)
        };
        // 2. Open a session.
        let mut opened = None;
        if depth >= CheckDepth::Session {
            let started = Instant::now();
            let result = agent.new_session(folder, &[]).await;
            let (session, id) = session_probe(result, started.elapsed());
            probed.session = Some(session);
            opened = id;
        }
        probed.memory_bytes = agent.resource_usage().await.map(|used| used.memory_bytes);
        let Some(id) = opened else {
            agent.shutdown(GracePeriods::default()).await;
            return Ok(probed);
        };
        // 3. Restore the session in another process.
        let last = if depth == CheckDepth::Restore {
            let (restore, last) = self.try_restore(config, name, folder, agent, &id).await;
            probed.restore = Some(restore);
            last
        } else {
            Some(agent)
        };
        // 4. Delete the session. No agent is left for this if the restore failed before the second start.
        if let Some(agent) = last {
            let was_deleted = agent.discard_session(&id).await;
            if let Some(SessionProbe::Opened { deleted, .. }) = &mut probed.session {
                *deleted = was_deleted;
            }
            agent.shutdown(GracePeriods::default()).await;
        }
        Ok(probed)
    }

    /// Starts the agent under a guard.
    async fn start(
        &self,
        config: &AgentConfig,
        name: &str,
        folder: &Path,
    ) -> Result<Agent, agent::StartError> {
        let start = Duration::from_secs(config.start_seconds.into());
        let restore = Duration::from_secs(config.restore_seconds.into());
        let launch = Launch {
            command: config.command.clone(),
            cwd: folder.to_owned(),
            env: config.environment(&self.environment),
            guard: self.guard.clone(),
            marker: name.to_owned(),
            limits: Limits {
                start,
                restore,
                ..Limits::default()
            },
            // A probe never renews its lease, so the lease must outlast the starts, the turn and the restore.
            lease: 2 * (start + restore) + PROBE_TURN_TIMEOUT + PROBE_LEASE_MARGIN,
            resources: config.limits,
            authenticate: config.authenticate.clone(),
        };
        Agent::start(launch, Arc::new(DenyAll)).await
    }

    /// Takes a turn in `agent`, shuts it down, and restores the session in a new process. Returns the new agent, or
    /// `None` if none was started.
    async fn try_restore(
        &self,
        config: &AgentConfig,
        name: &str,
        folder: &Path,
        agent: Agent,
        id: &AcpSessionId,
    ) -> (RestoreProbe, Option<Agent>) {
        let failed = |reason: String| RestoreProbe::Failed { reason };
        let started = Instant::now();
        let (updates, received) = mpsc::channel(1);
        // The probe ignores the text of the turn.
        drop(received);
        let turn =
            tokio::time::timeout(PROBE_TURN_TIMEOUT, agent.prompt(&[PROBE_PROMPT], updates)).await;
        let turn_took = started.elapsed();
        agent.shutdown(GracePeriods::default()).await;
        match turn {
            Ok(Ok(StopReason::EndTurn)) => {}
            Ok(Ok(other)) => return (failed(format!("its turn ended with {other}")), None),
            Ok(Err(error)) => return (failed(with_sources(&error)), None),
            Err(_) => {
                return (
                    failed(format!("its turn took longer than {PROBE_TURN_TIMEOUT:?}")),
                    None,
                );
            }
        }
        // Some agents write a session to disk only some time after the turn has ended.
        if config.restore_after_seconds > 0 {
            let settle = Duration::from_secs(config.restore_after_seconds.into());
            tokio::time::sleep(settle).await;
        }
        let agent = match self.start(config, name, folder).await {
            Ok(agent) => agent,
            Err(error) => return (failed(with_sources(&error)), None),
        };
        let started = Instant::now();
        let restored = agent.restore(id, folder, &[], config.restore).await;
        let restore = match restored {
            Ok(_) => RestoreProbe::Restored {
                turn: turn_took,
                took: started.elapsed(),
            },
            Err(error) => failed(with_sources(&error)),
        };
        (restore, Some(agent))
    }
}

/// Returns the capabilities that the agent announced.
fn announced_capabilities(agent: &Agent) -> CheckFindings {
    let capabilities = agent.capabilities().clone();
    let named = |text: String| Some(text).filter(|text| !text.is_empty());
    let which = |offers: &[(&str, bool)]| {
        let offered = offers.iter().filter(|(_, offered)| *offered);
        offered.map(|(name, _)| (*name).to_owned()).collect()
    };
    CheckFindings {
        offers: OfferedCapabilities {
            name: named(capabilities.name),
            version: named(capabilities.version),
            resume: capabilities.resume,
            load: capabilities.load,
            list: capabilities.list,
            close: capabilities.close,
            delete: capabilities.delete,
            prompts: which(&[
                ("image", capabilities.images),
                ("audio", capabilities.audio),
                ("resource", capabilities.embedded_context),
            ]),
            mcp: which(&[
                ("stdio", true),
                ("http", capabilities.mcp_http),
                ("sse", capabilities.mcp_sse),
            ]),
            auth_methods: capabilities
                .auth_methods
                .iter()
                .map(|way| way.id.clone())
                .collect(),
        },
        sign_in: capabilities
            .auth_methods
            .into_iter()
            .map(|method| SignIn {
                id: method.id,
                name: method.name,
                description: method.description,
                terminal: method.needs_terminal,
            })
            .collect(),
        ..CheckFindings::default()
    }
}

/// Converts the result of creating a session. Returns the ID of the session if it was created.
fn session_probe(
    result: Result<OpenSession, OpenError>,
    took: Duration,
) -> (SessionProbe, Option<AcpSessionId>) {
    match result {
        Ok(opened) => {
            let modes = opened.modes.map_or_else(Vec::new, |modes| {
                let others = modes.offered.into_iter().map(|mode| mode.id);
                // The current mode stands first.
                let others = others.filter(|id| *id != modes.current);
                std::iter::once(modes.current.clone())
                    .chain(others)
                    .collect()
            });
            let settings = opened.settings.into_iter();
            let session = SessionProbe::Opened {
                took,
                modes,
                settings: settings
                    .map(|setting| (setting.id, setting.current))
                    .collect(),
                deleted: false,
            };
            (session, Some(opened.id))
        }
        Err(OpenError::SignInNeeded { .. }) => (SessionProbe::SignInNeeded, None),
        Err(error) => (
            SessionProbe::Failed {
                reason: with_sources(&error),
            },
            None,
        ),
    }
}

/// Denies every permission request, so that a probe changes no file of the user.
struct DenyAll;

impl Permissions for DenyAll {
    fn decide(&self, _request: PermissionRequest) -> BoxFuture<'_, Decision> {
        Box::pin(async { Decision::Deny })
    }
}
