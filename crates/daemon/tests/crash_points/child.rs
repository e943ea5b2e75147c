//! The process that is aborted.

use std::{
    fs::{self, File},
    os::unix::process::ExitStatusExt as _,
    path::PathBuf,
    process::{Command, Stdio},
};

use model::{RunId, SessionId, TenantId, Timestamp};
use serde::{Deserialize, Serialize};
use store::Store;

use crate::{
    goals::GoalTransition,
    runtimes,
    stage::{instant, open},
    transitions::Transition,
    turns,
};

/// The environment variable with the child's job.
const JOB_VARIABLE: &str = "MATINS_CRASH_JOB";

/// SIGABRT.
const SIGABRT: i32 = 6;

/// The job of a child, and the point at which it is aborted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Job {
    /// The address of the database.
    pub(crate) url: String,
    /// A folder for everything outside the database.
    pub(crate) home: PathBuf,
    /// The number of the point at which the child is aborted.
    pub(crate) point: u64,
    /// The time of the child's clock, in microseconds since 1970.
    pub(crate) now: i64,
    pub(crate) task: Task,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Task {
    /// Runs one transition with the IDs of a session, a run and an automation.
    Transition(Transition, [String; 3]),
    /// Runs one transition of a goal with the IDs of its session, a run and a task.
    Goal(GoalTransition, [String; 3]),
    /// Runs a server until the automation's run is over.
    Serve(String),
    /// Runs a runtime with the address of a server and a token, until its folder is empty.
    Runtime(String, String),
    /// Writes the trigger files that are due.
    Deliver,
}

/// The store, the time and the rows of a job that runs one transition.
pub(crate) struct JobContext {
    pub(crate) store: Store,
    pub(crate) now: Timestamp,
    pub(crate) tenant: TenantId,
    pub(crate) session: SessionId,
    pub(crate) run: RunId,
}

/// The end of a child.
#[derive(Debug)]
pub(crate) struct ChildEnd {
    /// The points that the child reached. An aborted child ended at the last one.
    pub(crate) points: Vec<String>,
    /// `true` if the child was aborted.
    pub(crate) aborted: bool,
}

impl Job {
    fn points_file(&self) -> PathBuf {
        self.home.join("points")
    }

    /// Opens the store of a job with the IDs of a session and a run.
    pub(crate) async fn open(&self, session: &str, run: &str) -> JobContext {
        let store = open(&self.url, &self.home).await;
        let now = instant(self.now);
        let tenant = store.ensure_tenant("default", now).await.unwrap();
        JobContext {
            store,
            now,
            tenant,
            session: session.parse().unwrap(),
            run: run.parse().unwrap(),
        }
    }

    /// Runs the job in a child process and waits for its end.
    pub(crate) fn run(&self) -> ChildEnd {
        fs::write(self.points_file(), "").unwrap();
        let output = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "child::run_child_job",
                "--ignored",
                "--nocapture",
            ])
            .env(JOB_VARIABLE, serde_json::to_string(self).unwrap())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let aborted = output.status.signal() == Some(SIGABRT);
        assert!(
            aborted || output.status.success(),
            "the child failed: {}\n{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        let points = fs::read_to_string(self.points_file()).unwrap();
        ChildEnd {
            points: points.lines().map(str::to_owned).collect(),
            aborted,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "is a process that the other tests start"]
async fn run_child_job() {
    #[expect(
        clippy::disallowed_methods,
        reason = "the test that starts this process names the job"
    )]
    let job = std::env::var(JOB_VARIABLE).expect("the other tests start this");
    let job: Job = serde_json::from_str(&job).unwrap();
    let names = File::options()
        .append(true)
        .open(job.points_file())
        .unwrap();
    let arm = |counts| failpoint::arm(job.point, counts, names);
    match &job.task {
        Task::Transition(transition, about) => transition.execute(&job, about, arm).await,
        Task::Goal(transition, about) => transition.execute(&job, about, arm).await,
        Task::Serve(automation) => turns::serve_until_run_is_over(&job, automation, arm).await,
        Task::Runtime(address, token) => {
            runtimes::run_until_folder_is_empty(&job, address, token, arm).await;
        }
        Task::Deliver => runtimes::deliver(&job, arm).await,
    }
}
