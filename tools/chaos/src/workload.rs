//! The data that exists when the faults begin: two tenants, one scripted agent for each behavior, sessions, and
//! automations with all kinds of schedules, sessions and policies. All of it is created through the API.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use jiff::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};
use testkit::scripted::{Crash, Script, Step};
use tokio::time::{Instant, sleep};

use super::{
    args::Args,
    automation_plans::{AutomationPlan, automation_plans, every_trigger, placed_plans},
    goal_plan::{GOAL_AGENT, plan},
    http::Api,
    programs::Programs,
    replica::CANARY_VARIABLE,
    trigger_folder::TriggerFolder,
};

/// The maximum time to create one object. No faults happen yet, so this is only a safety net.
const CREATE_TIMEOUT: Duration = Duration::from_mins(1);

/// The name of the instance in a folder, in each tenant.
const INSTANCE: &str = "there";

/// The pause before a retry of a request that a server of the earlier version refused.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// A tenant with its sessions and automations.
pub(crate) struct Tenant {
    pub(crate) name: &'static str,
    pub(crate) api: Api,
    /// The IDs of the sessions to which people send messages.
    pub(crate) message_sessions: Vec<String>,
    /// The IDs of all automations.
    pub(crate) automations: Vec<String>,
    /// The IDs of the automations without a trigger, which people fire.
    pub(crate) manual_automations: Vec<String>,
    /// The IDs of the automations that have a session of their own (`continuous`).
    pub(crate) continuous_automations: Vec<String>,
    /// The instance of the tenant in a folder. `None` if the tenant has none.
    pub(crate) placed: Option<PlacedTenant>,
}

/// The instance of a tenant in a folder.
pub(crate) struct PlacedTenant {
    /// The token of its runtime.
    pub(crate) token: String,
    /// The session whose turns are placed there.
    session: String,
}

/// All tenants, agents and tokens of the test.
pub(crate) struct Workload {
    pub(crate) tenants: Vec<Tenant>,
    /// The home folders of the agents. Each agent writes its prompt log there.
    pub(crate) agent_homes: Vec<PathBuf>,
    /// The API tokens of all tenants. They must not appear in any log.
    pub(crate) tokens: Vec<String>,
    /// The factor of the periods of automations on servers, and of the pauses of people.
    pub(crate) slowdown: u8,
}

/// The behavior of a scripted agent.
struct AgentBehavior {
    name: &'static str,
    steps: Vec<Step>,
    /// `true` if the agent ignores the end of its input and SIGTERM, so that only SIGKILL ends it.
    ignores_termination: bool,
}

/// Returns the behaviors of the test's agents: quick, slow and failing ones, and one that only SIGKILL ends.
/// Durations are in milliseconds.
fn agent_behaviors(home: &Path) -> Vec<AgentBehavior> {
    let work = |least, most| Step::Work { least, most };
    let temper = |name, steps| AgentBehavior {
        name,
        steps,
        ignores_termination: false,
    };
    let child = Step::Grandchild {
        pid_file: home.join("grandchild"),
        clear_environment: false,
    };
    vec![
        temper("quick", vec![work(10, 120), Step::text("Done.")]),
        temper("worker", vec![work(100, 1500), Step::Echo]),
        temper("long", vec![work(3000, 8000), Step::text("Done at last.")]),
        temper("crasher", vec![work(10, 50), Step::Crash(Crash::Exit(3))]),
        temper("refuser", vec![Step::stop("refusal")]),
        temper("silent", vec![work(10, 50)]),
        temper(
            GOAL_AGENT,
            vec![work(50, 400), Step::PlayGoal { plan: plan() }],
        ),
        AgentBehavior {
            name: "stubborn",
            steps: vec![child, work(50, 400), Step::text("I stay.")],
            ignores_termination: true,
        },
    ]
}

impl Workload {
    /// Creates both tenants with their data. `token` and the token of `api` are those of the first administrator;
    /// `args` has the policies that the earlier version does not know. Each tenant gets an instance in one of the
    /// `folders`, as long as there are any.
    pub(crate) async fn create(
        args: &Args,
        root: &Path,
        programs: &Programs,
        api: &Api,
        token: &str,
        folders: &[Arc<TriggerFolder>],
    ) -> Result<Self> {
        let created = api
            .send_expecting_success(
                Method::POST,
                "/tenants",
                Some(&json!({ "name": "other" })),
                Some("tenant"),
                CREATE_TIMEOUT,
            )
            .await?;
        let other = created["token"]["secret"].as_str();
        let other = other
            .context("the command printed no token of the tenant")?
            .to_owned();
        let mut world = Self {
            tenants: Vec::new(),
            agent_homes: Vec::new(),
            tokens: vec![token.to_owned(), other.clone()],
            slowdown: args.slowdown,
        };
        let tenants = [("default", api.clone()), ("other", api.with_token(&other))];
        for (number, (name, api)) in tenants.into_iter().enumerate() {
            let mut tenant = world.create_tenant(root, programs, name, api).await?;
            if let Some(folder) = folders.get(number) {
                let token = tenant.create_placed_data(root, folder).await?;
                world.tokens.push(token);
            }
            for policies in &args.later_policies {
                tenant.create_later_automation(root, policies).await?;
            }
            world.tenants.push(tenant);
        }
        Ok(world)
    }

    /// Creates the agents, sessions and automations of one tenant.
    async fn create_tenant(
        &mut self,
        root: &Path,
        programs: &Programs,
        name: &'static str,
        api: Api,
    ) -> Result<Tenant> {
        let first = name == "default";
        let homes = root.join("agents").join(name);
        for temper in agent_behaviors(&homes) {
            let home = homes.join(temper.name);
            let command = agent_command(programs, &home, &temper)?;
            let config = json!({ "command": command, "pass_env": [CANARY_VARIABLE] });
            let path = format!("/agents/{}", temper.name);
            api.send_expecting_success(Method::PUT, &path, Some(&config), None, CREATE_TIMEOUT)
                .await
                .with_context(|| format!("cannot create the agent `{}`", temper.name))?;
            self.agent_homes.push(home);
        }
        let mut tenant = Tenant {
            name,
            api,
            message_sessions: Vec::new(),
            automations: Vec::new(),
            manual_automations: Vec::new(),
            continuous_automations: Vec::new(),
            placed: None,
        };
        for number in 0..if first { 4 } else { 2 } {
            let agent = if number % 2 == 0 { "worker" } else { "quick" };
            let cwd = create_folder(&root.join("work").join(name).join(format!("talk-{number}")))?;
            let body = json!({ "agent": agent, "cwd": cwd, "title": format!("talk {number}") });
            let key = format!("session-{number}");
            tenant
                .message_sessions
                .push(tenant.create_object("/sessions", &body, &key).await?);
        }
        for plan in automation_plans(first, Timestamp::now(), self.slowdown) {
            tenant.create_automation(root, plan, None).await?;
        }
        Ok(tenant)
    }
}

impl Tenant {
    /// Creates an object and returns its ID. `key` is the idempotency key.
    async fn create_object(&self, path: &str, body: &Value, key: &str) -> Result<String> {
        let api = &self.api;
        let made =
            api.send_expecting_success(Method::POST, path, Some(body), Some(key), CREATE_TIMEOUT);
        let made = made.await?;
        let id = made["id"]
            .as_str()
            .context("the created object has no `id`")?;
        Ok(id.to_owned())
    }

    /// Creates an instance in a folder, a session and automations whose turns are placed there. Returns the token of its
    /// runtime.
    async fn create_placed_data(&mut self, root: &Path, folder: &TriggerFolder) -> Result<String> {
        let body = json!({ "name": INSTANCE, "kind": "directory", "folder": folder.path() });
        let created = self.api.send_expecting_success(
            Method::POST,
            "/instances",
            Some(&body),
            Some("instance"),
            CREATE_TIMEOUT,
        );
        let created = created.await?;
        let token = created["secret"].as_str();
        let token = token.context("the instance has no token")?.to_owned();
        let body = json!({ "agent": "worker", "placed_on": INSTANCE, "title": "talk there" });
        let session = self
            .create_object("/sessions", &body, "session-there")
            .await?;
        self.message_sessions.push(session.clone());
        let placed = PlacedTenant {
            token: token.clone(),
            session,
        };
        for plan in placed_plans(self.name == "default") {
            self.create_automation(root, plan, Some(&placed)).await?;
        }
        self.placed = Some(placed);
        Ok(token)
    }

    /// Creates an automation with policies that the earlier version does not know.
    ///
    /// # Errors
    ///
    /// Returns an error if no server accepts the policies within [`CREATE_TIMEOUT`].
    async fn create_later_automation(&mut self, root: &Path, policies: &Value) -> Result<()> {
        let number = self.automations.len();
        let body = json!({
            "name": format!("later {number}"), "prompt": "What a later version asks for.",
            "agent": "quick", "session": "fresh", "triggers": every_trigger(3), "policies": policies,
            "cwd": create_folder(&root.join("work").join(self.name).join(format!("later-{number}")))?,
        });
        let key = format!("automation-later-{number}");
        let deadline = Instant::now() + CREATE_TIMEOUT;
        loop {
            let response = self.api.send(
                Method::POST,
                "/automations",
                Some(&body),
                Some(&key),
                CREATE_TIMEOUT,
            );
            let answer = response.await?;
            match answer.status {
                201 => {
                    let id = answer.body["id"]
                        .as_str()
                        .context("the created object has no `id`")?;
                    self.automations.push(id.to_owned());
                    return Ok(());
                }
                // A server of the earlier version refuses unknown policies. The next attempt may reach a server of
                // this version, because each attempt selects a server at random.
                400 if Instant::now() < deadline => sleep(RETRY_PAUSE).await,
                status => bail!(
                    "no server accepts the policies {policies}: {status}: {}",
                    answer.body
                ),
            }
        }
    }

    /// Creates the automation of a plan and notes its ID. Its turns run on the instance of `placed`, or anywhere.
    async fn create_automation(
        &mut self,
        root: &Path,
        plan: AutomationPlan,
        placed: Option<&PlacedTenant>,
    ) -> Result<()> {
        let slug = plan.name.replace(' ', "-");
        let bound_to = placed.map_or(&self.message_sessions[0], |placed| &placed.session);
        let session = match plan.session {
            "bound" => format!("bound:{bound_to}"),
            session => session.to_owned(),
        };
        let mut policies = plan.policies;
        // Automations with failing agents must not pause, and their retries must come soon. Otherwise, a short test
        // would see few retries.
        policies["pause_after_failures"] = json!(0);
        if policies["retry"].is_null() {
            policies["retry"] = json!({});
        }
        policies["retry"]["backoff_seconds"] = json!(1);
        policies["retry"]["backoff_max_seconds"] = json!(3);
        let mut body = json!({
            "name": plan.name, "prompt": format!("What {slug} asks for."),
            "session": session, "triggers": plan.triggers, "policies": policies,
        });
        if placed.is_some() {
            body["placed_on"] = json!(INSTANCE);
        }
        // A bound automation takes the agent and the folder of its session, so it must not name its own.
        if plan.session != "bound" {
            body["agent"] = json!(plan.agent);
        }
        // The others on an instance in a folder get a folder of their own there.
        if plan.session == "fresh" || placed.is_none() && plan.session != "bound" {
            body["cwd"] = json!(create_folder(
                &root.join("work").join(self.name).join(&slug)
            )?);
        }
        let id = self
            .create_object("/automations", &body, &format!("automation-{slug}"))
            .await
            .with_context(|| format!("cannot create the automation `{}`", plan.name))?;
        if plan.session == "continuous" {
            self.continuous_automations.push(id.clone());
        }
        if plan.name.starts_with("by hand") {
            self.manual_automations.push(id.clone());
        }
        self.automations.push(id);
        Ok(())
    }
}

/// Creates a folder with its parents and returns its path as text.
fn create_folder(path: &Path) -> Result<String> {
    fs::create_dir_all(path)?;
    let text = path
        .to_str()
        .with_context(|| format!("the path `{}` is not UTF-8", path.display()))?;
    Ok(text.to_owned())
}

/// Writes the script of an agent and returns the command that runs it.
fn agent_command(programs: &Programs, home: &Path, temper: &AgentBehavior) -> Result<Vec<String>> {
    let mut script = Script::new(home).prompt(temper.steps.iter().cloned());
    script.ignores_end_of_input = temper.ignores_termination;
    script.ignores_term = temper.ignores_termination;
    let file = PathBuf::from(create_folder(home)?).join("script.json");
    fs::write(&file, serde_json::to_vec_pretty(&script)?)?;
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let played = [
        text(&programs.testkit),
        "agent".into(),
        "--script".into(),
        text(&file),
    ];
    // The shell ignores SIGTERM before it becomes the agent, because an ignored signal stays ignored across `exec`.
    // So the agent cannot die of SIGTERM during its start either.
    let trap = ["/bin/sh", "-c", "trap '' TERM; exec \"$0\" \"$@\""];
    let before = trap.into_iter().filter(|_| temper.ignores_termination);
    Ok(before.map(str::to_owned).chain(played).collect())
}
