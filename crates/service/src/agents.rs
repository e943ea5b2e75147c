//! Configured agents: the defaults of every tenant, agents that people add, and checks of their processes.

use std::path::Path;

use api_types::{BoundAutomation, CheckDepth, CheckResponse, OpenSession};
use model::{
    InstanceId,
    agent::{Agent, AgentConfig, OfferedCapabilities, RestoreBy},
    permission::own_tools_problem,
};

use store::AgentRemoval;

use crate::{Error, Service, boxed, catalogue, naming};

/// The name of the configured agent whose command starts the demonstration agent.
pub const DEMO_AGENT: &str = "demo";

/// The lowest accepted limits. Below them, the programs of agents do not even start.
const MIN_MEMORY_BYTES: u64 = 16 << 20;
const MIN_PROCESSES: u64 = 8;
const MIN_OPEN_FILES: u64 = 32;
const MIN_FILE_BYTES: u64 = 4 << 10;

impl Service {
    /// Adds the missing agents of the catalogue and the demonstration agent, which `demo_command` starts.
    ///
    /// Keeps every change that a person has made, removals included. The only exception is the program of the
    /// demonstration agent: if its file no longer exists because this program was moved, the agent gets the new path.
    #[boxed]
    pub async fn add_known_agents(&self, demo_command: &[String]) -> Result<(), Error> {
        let existing = self.store.agents(self.scope()).await?;
        let demo = AgentConfig::new(demo_command.to_vec());
        let moved = existing
            .iter()
            .find(|agent| agent.name == DEMO_AGENT && is_moved(&agent.config, &demo));
        if let Some(agent) = moved {
            let mut config = agent.config.clone();
            config.command = demo.command.clone();
            self.put_agent(DEMO_AGENT, &config, agent.offers.as_ref())
                .await?;
        }
        // `add_agent` changes nothing if a concurrent process has added the agent since the list was read.
        let demo = (DEMO_AGENT.to_owned(), demo);
        for (name, config) in catalogue::agents().into_iter().chain([demo]) {
            if existing.iter().all(|agent| agent.name != name) {
                self.store
                    .add_agent(self.tenant, &name, &config, self.now())
                    .await?;
            }
        }
        Ok(())
    }

    /// Lists the agents by name.
    #[boxed]
    pub async fn agents(&self) -> Result<Vec<Agent>, Error> {
        Ok(self.store.agents(self.scope()).await?)
    }

    /// Returns one agent, by its name or its ID.
    #[boxed]
    pub async fn agent(&self, given: &str) -> Result<Agent, Error> {
        self.find_agent(given).await
    }

    /// Adds an agent, or replaces the configuration of the agent with that name. Its capabilities are unknown until its
    /// process is started.
    ///
    /// # Errors
    ///
    /// Returns an error if the name or the configuration is invalid. A name in the form of an ID is invalid, unless an
    /// agent has it already.
    #[boxed]
    pub async fn add_agent(&self, name: &str, config: &AgentConfig) -> Result<Agent, Error> {
        let existing = if model::has_id_form(name) {
            self.find_agent(name).await.ok()
        } else {
            None
        };
        let before = existing.as_ref().map(|agent| agent.name.as_str());
        let name = naming::validate_new_name("name", name, before)
            .map_err(|error| error.with_name("agent name"))?;
        check_config(config)?;
        self.put_agent(&name, config, None).await
    }

    /// Replaces the configuration of an agent.
    ///
    /// # Errors
    ///
    /// Returns an error if the configuration is invalid, or if the agent has changed since it was read as `seen`.
    #[boxed]
    pub async fn edit_agent(&self, seen: &Agent, config: &AgentConfig) -> Result<Agent, Error> {
        check_config(config)?;
        let (tenant, now) = (self.tenant, self.now());
        let edited = self
            .store
            .edit_agent(tenant, seen.id, &seen.config, config, now);
        Ok(edited.await?)
    }

    /// Removes an agent, by its name or its ID. Its name is free for another agent afterwards.
    ///
    /// # Errors
    ///
    /// Returns [`Error::AgentInUse`] if an automation or an open session uses the agent.
    #[boxed]
    pub async fn remove_agent(&self, given: &str) -> Result<Agent, Error> {
        let id = self.find_agent(given).await?.id;
        let removal = self.store.remove_agent(self.tenant, id, self.now()).await?;
        match removal {
            AgentRemoval::Removed(agent) => Ok(*agent),
            AgentRemoval::UsedBy {
                agent,
                automations,
                sessions,
                more,
            } => Err(Error::AgentInUse {
                agent,
                automations: automations
                    .into_iter()
                    .map(|user| BoundAutomation {
                        id: user.id,
                        name: user.name,
                        enabled: user.enabled,
                    })
                    .collect(),
                sessions: sessions
                    .into_iter()
                    .map(|user| OpenSession {
                        id: user.id,
                        title: user.title,
                    })
                    .collect(),
                more,
            }),
        }
    }

    /// Starts the process of an agent, stores its capabilities, and returns the findings.
    #[boxed]
    pub async fn check_agent(
        &self,
        given: &str,
        depth: CheckDepth,
    ) -> Result<CheckResponse, Error> {
        let agent = self.find_agent(given).await?;
        self.check(&agent, depth).await
    }

    /// Returns the capabilities of an agent. Starts the agent if they are unknown.
    pub(crate) async fn capabilities(&self, agent: &Agent) -> Result<OfferedCapabilities, Error> {
        if let Some(offers) = &agent.offers {
            return Ok(offers.clone());
        }
        let checked = self.check(agent, CheckDepth::Offers).await?;
        Ok(checked.agent.offers.map(Into::into).unwrap_or_default())
    }

    /// Checks that an agent can restore sessions. If its capabilities are unknown, starts it, unless its turns are placed
    /// on another instance: the agent may be installed there alone, and a turn that cannot restore its session fails.
    ///
    /// # Errors
    ///
    /// Returns [`Error::CannotRestore`] if it cannot, and [`Error::Probe`] if it cannot be started.
    pub(crate) async fn require_restore(
        &self,
        agent: &Agent,
        placed_on: Option<InstanceId>,
    ) -> Result<(), Error> {
        if agent.offers.is_none() && self.is_on_other_instance(placed_on) {
            return Ok(());
        }
        let restore: RestoreBy = agent.config.restore;
        if self.capabilities(agent).await?.can_restore(restore) {
            return Ok(());
        }
        Err(Error::CannotRestore {
            agent: agent.name.clone(),
            restore,
        })
    }

    async fn check(&self, agent: &Agent, depth: CheckDepth) -> Result<CheckResponse, Error> {
        if agent.needs_format > store::DOCUMENT_FORMAT {
            // This program would not enforce a limit that only a later version knows, so do not start the agent.
            return Err(Error::Store(store::Error::NewerFormat {
                what: "agent",
                name: agent.name.clone(),
                needed: agent.needs_format,
            }));
        }
        let started_at = self.now();
        let probed = self.probe.probe(&agent.config, depth).await;
        let probed = probed.map_err(|source| Error::Probe {
            agent: agent.name.clone(),
            install: catalogue::install_hint(&agent.config),
            source,
        })?;
        let took = self.now().since(started_at);
        let can_restore = probed.offers.can_restore(agent.config.restore);
        // The store keeps the capabilities only if the configuration is still the one that was started: a person may
        // have changed it meanwhile, and another agent has other capabilities.
        let (id, started) = (agent.id, &agent.config);
        let agent = self
            .store
            .store_agent_offers(self.tenant, id, started, &probed.offers, self.now())
            .await?;
        Ok(CheckResponse {
            sign_in_hint: catalogue::sign_in_hint(&agent.config),
            agent: agent.into(),
            findings: probed,
            can_restore,
            took,
        })
    }

    async fn put_agent(
        &self,
        name: &str,
        config: &AgentConfig,
        offers: Option<&OfferedCapabilities>,
    ) -> Result<Agent, Error> {
        let put = self
            .store
            .put_agent(self.tenant, name, config, offers, self.now());
        Ok(put.await?)
    }
}

/// Checks that a configuration can start an agent.
fn check_config(config: &AgentConfig) -> Result<(), Error> {
    if config.command.first().is_none_or(String::is_empty) {
        return Err(Error::Missing {
            field: "command",
            expected: "give the agent's program and its arguments".into(),
        });
    }
    for variable in config.env.keys() {
        check_variable("env".into(), variable)?;
    }
    for (at, variable) in config.pass_env.iter().enumerate() {
        check_variable(format!("pass_env[{at}]"), variable)?;
    }
    for (at, described) in config.own_tools.iter().enumerate() {
        if let Some(problem) = own_tools_problem(described) {
            let problem = format!("{problem}; accepted is a title such as `mcp__matins__{{tool}}`");
            return Err(Error::invalid(
                format!("own_tools[{at}]"),
                described,
                problem,
            ));
        }
    }
    check_limits(config)
}

/// Checks that a name can be the name of an environment variable.
fn check_variable(field: String, variable: &str) -> Result<(), Error> {
    if variable.is_empty() || variable.contains(['=', '\0']) {
        let accepted = "accepted is a name that is not empty and contains neither `=` nor U+0000";
        return Err(Error::invalid(field, variable, accepted).with_name("variable"));
    }
    Ok(())
}

/// Checks that an agent can start under the limits, and that no time limit is zero.
fn check_limits(config: &AgentConfig) -> Result<(), Error> {
    let limits = config.limits;
    let least = [
        (
            "limits.memory_bytes",
            "memory limit",
            limits.memory_bytes,
            MIN_MEMORY_BYTES,
            "bytes",
        ),
        (
            "limits.processes",
            "processes limit",
            limits.processes,
            MIN_PROCESSES,
            "processes and threads",
        ),
        (
            "limits.cpu_seconds",
            "processor time limit",
            limits.cpu_seconds,
            1,
            "seconds",
        ),
        (
            "limits.open_files",
            "open files limit",
            limits.open_files,
            MIN_OPEN_FILES,
            "files",
        ),
        (
            "limits.file_bytes",
            "file size limit",
            limits.file_bytes,
            MIN_FILE_BYTES,
            "bytes",
        ),
        (
            "start_seconds",
            "start limit",
            Some(config.start_seconds.into()),
            1,
            "seconds",
        ),
        (
            "restore_seconds",
            "restore limit",
            Some(config.restore_seconds.into()),
            1,
            "seconds",
        ),
    ];
    for (field, what, given, least, unit) in least {
        if let Some(given) = given.filter(|given| *given < least) {
            let accepted = format!("accepted are {least} {unit} or more");
            return Err(Error::invalid(field, &given.to_string(), accepted).with_name(what));
        }
    }
    Ok(())
}

/// `true` if a configuration differs from that of the demonstration agent only in its program, which no longer exists.
fn is_moved(stored: &AgentConfig, demo: &AgentConfig) -> bool {
    let (Some((stored_program, stored_args)), Some((program, args))) =
        (stored.command.split_first(), demo.command.split_first())
    else {
        return false;
    };
    stored_args == args && stored_program != program && !Path::new(stored_program).exists()
}
