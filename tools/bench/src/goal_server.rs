//! A server that takes the turns of goals, with an agent for the planner and one for the workers.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use api_types::{GoalMove, GoalRequest, NewTaskRequest, PlanRequest, TeamFile};
use client::{Client, SocketAddress};
use tokio::{
    process::Command,
    time::{sleep, timeout},
};

use super::{
    fixture,
    idle_server::{ANY_LOCAL_PORT, ServerProcess},
    programs::Programs,
    prompt_times,
};

/// The answer of the planner, which takes the turn that each goal begins with: a plan of one task. The other tasks are
/// published before the goal starts.
const PLANNED_TASK: &str = "```json\n{\"key\": \"planned\", \"title\": \"Planned\", \"description\": \"Do nothing.\", \
     \"role\": \"worker\"}\n```\n";
/// The interval at which the log of prompts is polled, which loads neither server nor database.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The maximum time until a goal has taken the wanted turns.
const TURNS_TIMEOUT: Duration = Duration::from_mins(10);

/// A running server.
pub(crate) struct GoalServer {
    pub(crate) client: Client,
    pub(crate) process: ServerProcess,
    /// The file with the prompts of the workers.
    log: PathBuf,
    team: String,
}

impl GoalServer {
    /// Starts a server below `home` for goals with `seats` workers, whose agents get `worker_options`.
    pub(crate) async fn start(
        programs: &Programs,
        home: &Path,
        database: &[&str],
        seats: u32,
        worker_options: &[&str],
    ) -> Result<Self> {
        // 1. Add the agents, which creates the data folder.
        let data = home.join("data");
        let log = home.join("prompts");
        let mut planner = programs.instant_agent();
        planner.push(format!("--answer={PLANNED_TASK}"));
        let mut worker = programs.instant_agent();
        worker.push(format!("--prompt-log={}", log.display()));
        worker.extend(worker_options.iter().map(|option| (*option).to_owned()));
        for (name, command) in [("planner", planner), ("worker", worker)] {
            let status = Command::new(&programs.matins)
                .args(["--data".as_ref(), data.as_os_str()])
                .args(database)
                .args(["agent", "add", name, "--"])
                .args(command)
                .stdout(Stdio::null())
                .status()
                .await?;
            ensure!(status.success(), "`matins agent add` ended with {status}");
        }
        // 2. Start the server. A goal takes fewer turns at once than the server has workers, so that it gets two more.
        let workers = (seats + 2).to_string();
        let options = [database, &["--workers", workers.as_str()]].concat();
        let process =
            ServerProcess::start_at(programs, &data, "error", ANY_LOCAL_PORT, &options).await?;
        let socket = SocketAddress::for_path(&data.join("matins.sock"))?;
        let client = Client::with_socket(socket, fixture::system_entropy())?;
        // Tasks that write nothing run side by side in one directory.
        let team = format!(
            "name = \"bench\"\n\
             limits = {{ plan = 10000, tasks = 10000, turns = 100000, idle_turns = 10000, parallel = {seats} }}\n\
             [[seats]]\nrole = \"planner\"\nentry = true\nagent = \"planner\"\n\
             [[seats]]\nrole = \"worker\"\nagent = \"worker\"\ncount = {seats}\nwrites = []\n"
        );
        Ok(Self {
            client,
            process,
            log,
            team,
        })
    }

    /// Starts a goal with tasks. Returns its ID.
    pub(crate) async fn start_goal(&self, tasks: Vec<NewTaskRequest>) -> Result<String> {
        let request = GoalRequest {
            goal: "Do all tasks.".into(),
            team_file: Some(TeamFile {
                name: "bench.toml".into(),
                text: self.team.clone(),
            }),
            draft: true,
            ..GoalRequest::default()
        };
        let goal = self
            .client
            .start_goal(&request)
            .await?
            .summary
            .id
            .to_string();
        let plan = PlanRequest {
            plan_version: 0,
            tasks,
            cancel: Vec::new(),
        };
        self.client.publish_tasks(&goal, &plan).await?;
        self.client.move_goal(&goal, GoalMove::Start).await?;
        Ok(goal)
    }

    /// Returns the instant of the first prompt of each run of a worker, as a time since 1970.
    pub(crate) fn prompts(&self) -> Result<HashMap<String, Duration>> {
        prompt_times::first_prompts(&self.log)
    }

    /// Waits until the workers have got the prompts of this many runs in all.
    pub(crate) async fn wait_for_prompts(&self, count: usize) -> Result<()> {
        let all = async {
            while self.prompts()?.len() < count {
                sleep(POLL_INTERVAL).await;
            }
            Ok(())
        };
        let waited = timeout(TURNS_TIMEOUT, all).await;
        waited.with_context(|| format!("the workers got fewer than {count} prompts in time"))?
    }
}

/// Returns a task of a worker.
pub(crate) fn new_task(key: String) -> NewTaskRequest {
    NewTaskRequest {
        title: key.clone(),
        key,
        role: "worker".into(),
        ..NewTaskRequest::default()
    }
}
