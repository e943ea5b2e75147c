//! The data that exists when the faults begin: two tenants, one scripted agent for each behavior, sessions, and
//! automations with all kinds of schedules, sessions and policies. All of it is created through the API.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use jiff::{SignedDuration, Timestamp};
use reqwest::Method;
use serde_json::{Value, json};
use testkit::scripted::{Crash, Script, Step};
use tokio::time::{Instant, sleep};

use super::{http::Api, programs::Programs, replica::CANARY_VARIABLE};

/// The maximum time to create one object. No faults happen yet, so this is only a safety net.
const PATIENCE: Duration = Duration::from_mins(1);

/// The pause before a retry of a request that a server of the earlier version refused.
const RETRY: Duration = Duration::from_millis(100);

/// A tenant with its sessions and automations.
pub(crate) struct Tenant {
    pub(crate) name: &'static str,
    pub(crate) api: Api,
    /// The IDs of the sessions to which people send messages.
    pub(crate) talks: Vec<String>,
    /// The IDs of all automations.
    pub(crate) automations: Vec<String>,
    /// The IDs of the automations without a trigger, which people fire.
    pub(crate) by_hand: Vec<String>,
    /// The IDs of the automations that have a session of their own (`continuous`).
    pub(crate) continuous: Vec<String>,
}

/// All tenants, agents and tokens of the test.
pub(crate) struct World {
    pub(crate) tenants: Vec<Tenant>,
    /// The home folders of the agents. Each agent writes its ledger there.
    pub(crate) homes: Vec<PathBuf>,
    /// The API tokens of all tenants. They must not appear in any log.
    pub(crate) tokens: Vec<String>,
}

/// The behavior of a scripted agent.
struct Temper {
    name: &'static str,
    steps: Vec<Step>,
    /// `true` if the agent ignores the end of its input and SIGTERM, so that only SIGKILL ends it.
    stubborn: bool,
}

/// Returns the behaviors of the test's agents: quick, slow and failing ones, and one that only SIGKILL ends.
/// Durations are in milliseconds.
fn tempers(home: &Path) -> Vec<Temper> {
    let work = |least, most| Step::Work { least, most };
    let temper = |name, steps| Temper {
        name,
        steps,
        stubborn: false,
    };
    let child = Step::Grandchild {
        pid_file: home.join("grandchild"),
        clear_environment: false,
    };
    vec![
        temper("quick", vec![work(10, 120), Step::say("Done.")]),
        temper("worker", vec![work(100, 1500), Step::Echo]),
        temper("long", vec![work(3000, 8000), Step::say("Done at last.")]),
        temper("crasher", vec![work(10, 50), Step::Crash(Crash::Exit(3))]),
        temper("refuser", vec![Step::stop("refusal")]),
        temper("silent", vec![work(10, 50)]),
        Temper {
            name: "stubborn",
            steps: vec![child, work(50, 400), Step::say("I stay.")],
            stubborn: true,
        },
    ]
}

/// The definition of an automation to create.
struct Plan {
    name: &'static str,
    agent: &'static str,
    session: &'static str,
    triggers: Value,
    policies: Value,
}

fn plan(
    name: &'static str,
    agent: &'static str,
    session: &'static str,
    triggers: Value,
    policies: Value,
) -> Plan {
    Plan {
        name,
        agent,
        session,
        triggers,
        policies,
    }
}

fn every(period: &str) -> Value {
    json!([{ "kind": "every", "period": period }])
}

fn cron(expression: &str) -> Value {
    json!([{ "kind": "cron", "expression": expression, "zone": "Europe/Prague" }])
}

/// Returns three `at` triggers in the near future.
fn instants(now: Timestamp) -> Value {
    let at = [9, 15, 21].map(|seconds| {
        let at = now.saturating_add(SignedDuration::from_secs(seconds));
        json!({ "kind": "at", "at": at.map(|at| at.to_string()).unwrap_or_default() })
    });
    json!(at)
}

/// Returns the automations of a tenant. A `bound` automation uses the tenant's first session.
fn automations(first: bool, now: Timestamp) -> Vec<Plan> {
    if !first {
        return vec![
            plan("beats", "quick", "fresh", every("3s"), json!({})),
            plan(
                "chimes in",
                "worker",
                "bound",
                cron("*/4 * * * * *"),
                json!({}),
            ),
            plan("by hand", "quick", "fresh", json!([]), json!({})),
        ];
    }
    let all = json!({ "overlap": "allow", "catch_up": "all" });
    let none = json!({ "overlap": "skip", "catch_up": "none" });
    let twice = json!({ "retry": { "attempts": 2 } });
    let once = json!({ "on_crash": "fail", "queue_limit": 3 });
    vec![
        plan("skips", "worker", "fresh", every("2s"), none),
        plan(
            "goes on",
            "worker",
            "continuous",
            cron("*/3 * * * * *"),
            json!({ "queue_limit": 5 }),
        ),
        plan("chimes in", "quick", "bound", cron("*/5 * * * * *"), once),
        plan("clings", "stubborn", "fresh", every("11s"), all),
        plan("crashes", "crasher", "fresh", every("7s"), twice),
        plan("refuses", "refuser", "fresh", every("8s"), json!({})),
        plan(
            "says nothing",
            "silent",
            "fresh",
            every("9s"),
            json!({ "jitter_seconds": 2 }),
        ),
        plan(
            "is called off",
            "long",
            "continuous",
            every("6s"),
            json!({ "overlap": "cancel_running" }),
        ),
        plan("once each", "quick", "fresh", instants(now), json!({})),
        plan(
            "by hand",
            "quick",
            "continuous",
            json!([]),
            json!({ "queue_limit": 4 }),
        ),
    ]
}

impl World {
    /// Creates both tenants with their data. `token` and the token of `api` are those of the first administrator;
    /// `later` has the policies that the earlier version does not know.
    pub(crate) async fn make(
        root: &Path,
        programs: &Programs,
        api: &Api,
        token: &str,
        later: &[Value],
    ) -> Result<Self> {
        let created = api
            .must(
                Method::POST,
                "/tenants",
                Some(&json!({ "name": "other" })),
                Some("tenant"),
                PATIENCE,
            )
            .await?;
        let other = created["token"]["secret"].as_str();
        let other = other.context("a tenant without a token")?.to_owned();
        let mut world = Self {
            tenants: Vec::new(),
            homes: Vec::new(),
            tokens: vec![token.to_owned(), other.clone()],
        };
        for (name, api) in [("default", api.clone()), ("other", api.with_token(&other))] {
            let mut tenant = world.tenant(root, programs, name, api).await?;
            for policies in later {
                tenant.create_later_automation(root, policies).await?;
            }
            world.tenants.push(tenant);
        }
        Ok(world)
    }

    /// Creates the agents, sessions and automations of one tenant.
    async fn tenant(
        &mut self,
        root: &Path,
        programs: &Programs,
        name: &'static str,
        api: Api,
    ) -> Result<Tenant> {
        let first = name == "default";
        let homes = root.join("agents").join(name);
        for temper in tempers(&homes) {
            let home = homes.join(temper.name);
            let command = command(programs, &home, &temper)?;
            let config = json!({ "command": command, "pass_env": [CANARY_VARIABLE] });
            let path = format!("/agents/{}", temper.name);
            api.must(Method::PUT, &path, Some(&config), None, PATIENCE)
                .await
                .with_context(|| format!("make the agent {}", temper.name))?;
            self.homes.push(home);
        }
        let mut tenant = Tenant {
            name,
            api,
            talks: Vec::new(),
            automations: Vec::new(),
            by_hand: Vec::new(),
            continuous: Vec::new(),
        };
        for number in 0..if first { 4 } else { 2 } {
            let agent = if number % 2 == 0 { "worker" } else { "quick" };
            let cwd = folder(&root.join("work").join(name).join(format!("talk-{number}")))?;
            let body = json!({ "agent": agent, "cwd": cwd, "title": format!("talk {number}") });
            let key = format!("session-{number}");
            tenant
                .talks
                .push(tenant.make("/sessions", &body, &key).await?);
        }
        for plan in automations(first, Timestamp::now()) {
            tenant.automate(root, plan).await?;
        }
        Ok(tenant)
    }
}

impl Tenant {
    /// Creates an object and returns its ID. `key` is the idempotency key.
    async fn make(&self, path: &str, body: &Value, key: &str) -> Result<String> {
        let api = &self.api;
        let made = api.must(Method::POST, path, Some(body), Some(key), PATIENCE);
        let made = made.await?;
        let id = made["id"].as_str().context("something without an id")?;
        Ok(id.to_owned())
    }

    /// Creates an automation with policies that the earlier version does not know.
    ///
    /// # Errors
    ///
    /// Returns an error if no server accepts the policies within [`PATIENCE`].
    async fn create_later_automation(&mut self, root: &Path, policies: &Value) -> Result<()> {
        let number = self.automations.len();
        let body = json!({
            "name": format!("later {number}"), "prompt": "What a later version asks for.",
            "agent": "quick", "session": "fresh", "triggers": every("3s"), "policies": policies,
            "cwd": folder(&root.join("work").join(self.name).join(format!("later-{number}")))?,
        });
        let key = format!("automation-later-{number}");
        let deadline = Instant::now() + PATIENCE;
        loop {
            let asked = self.api.ask(
                Method::POST,
                "/automations",
                Some(&body),
                Some(&key),
                PATIENCE,
            );
            let answer = asked.await?;
            match answer.status {
                201 => {
                    let id = answer.body["id"]
                        .as_str()
                        .context("something without an id")?;
                    self.automations.push(id.to_owned());
                    return Ok(());
                }
                // A server of the earlier version refuses unknown policies. The next attempt may reach a server of
                // this version, because each attempt selects a server at random.
                422 if Instant::now() < deadline => sleep(RETRY).await,
                status => bail!("no server takes {policies}: {status}: {}", answer.body),
            }
        }
    }

    /// Creates the automation of a plan and notes its ID.
    async fn automate(&mut self, root: &Path, plan: Plan) -> Result<()> {
        let slug = plan.name.replace(' ', "-");
        let session = match plan.session {
            "bound" => format!("bound:{}", self.talks[0]),
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
        // A bound automation takes the agent and the folder of its session, so it must not name its own.
        if plan.session != "bound" {
            body["agent"] = json!(plan.agent);
            body["cwd"] = json!(folder(&root.join("work").join(self.name).join(&slug))?);
        }
        let id = self
            .make("/automations", &body, &format!("automation-{slug}"))
            .await
            .with_context(|| format!("make the automation {}", plan.name))?;
        if plan.session == "continuous" {
            self.continuous.push(id.clone());
        }
        if plan.name == "by hand" {
            self.by_hand.push(id.clone());
        }
        self.automations.push(id);
        Ok(())
    }
}

/// Creates a folder with its parents and returns its path as text.
fn folder(path: &Path) -> Result<String> {
    fs::create_dir_all(path)?;
    let path = path.to_str().context("a path is no UTF-8")?;
    Ok(path.to_owned())
}

/// Writes the script of an agent and returns the command that runs it.
fn command(programs: &Programs, home: &Path, temper: &Temper) -> Result<Vec<String>> {
    let mut script = Script::new(home).prompt(temper.steps.iter().cloned());
    script.ignores_end_of_input = temper.stubborn;
    script.ignores_term = temper.stubborn;
    let file = PathBuf::from(folder(home)?).join("script.json");
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
    let before = trap.into_iter().filter(|_| temper.stubborn);
    Ok(before.map(str::to_owned).chain(played).collect())
}
