//! The people of goals, each of whom starts a goal, answers its question, and helps it on until it ends.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, Result};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use super::{
    faults::FaultTargets,
    goal_history::GoalEnd,
    goal_plan::{GOAL_AGENT, team},
    http::Api,
    queries,
    workload::Workload,
};

/// The interval at which a goal is read.
const POLL_INTERVAL: Duration = Duration::from_millis(700);
/// The interval of the reports on a long test.
const REPORT_INTERVAL: Duration = Duration::from_mins(5);
/// The time after which a person gives up the retries of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);
/// The maximum time from the last fault, or from a later start, until a goal ends.
const END_TIMEOUT: Duration = Duration::from_mins(8);
/// The maximum time from the start of a goal to its end. Otherwise goals that hang while others wait for their start would
/// keep the faults going forever.
const GOAL_TIMEOUT: Duration = Duration::from_mins(30);

/// The running people of goals.
pub(crate) struct GoalPeople {
    lanes: JoinSet<Result<Vec<GoalEnd>>>,
    started: Arc<AtomicUsize>,
    count: usize,
}

impl GoalPeople {
    /// Starts `count` goals, the tenants by turns, of which at most `at_once` are under way at once. `calm` is cancelled
    /// after the last fault.
    pub(crate) fn start(
        world: &Workload,
        root: &str,
        count: usize,
        at_once: usize,
        calm: &CancellationToken,
    ) -> Self {
        let started = Arc::new(AtomicUsize::new(0));
        let mut lanes = JoinSet::new();
        for _ in 0..at_once.min(count) {
            let apis: Vec<Api> = world.tenants.iter().map(|it| it.api.clone()).collect();
            let (calm, started, team) = (calm.clone(), Arc::clone(&started), team(root));
            lanes.spawn(async move {
                let mut ends = Vec::new();
                loop {
                    let number = started.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return Ok(ends);
                    }
                    let Some(api) = apis.get(number % apis.len().max(1)) else {
                        return Ok(ends);
                    };
                    let end = follow_goal(api, number, &team, &calm).await;
                    // After an error, nobody waits for further starts.
                    ends.push(end.inspect_err(|_| started.store(count, Ordering::Relaxed))?);
                }
            });
        }
        Self {
            lanes,
            started,
            count,
        }
    }

    /// Waits until each goal has been started, so that the faults can meet all of them. A goal that hangs is left behind
    /// after [`GOAL_TIMEOUT`], and its person starts the next one.
    ///
    /// Prints the number of goals so far from time to time.
    pub(crate) async fn wait_for_starts(&self) {
        let mut report_at = Instant::now() + REPORT_INTERVAL;
        loop {
            let started = self.started.load(Ordering::Relaxed);
            if started >= self.count {
                return;
            }
            if Instant::now() >= report_at {
                println!("{started} of {} goals have been started.", self.count);
                report_at += REPORT_INTERVAL;
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Waits until each goal has ended, or until its time is over: [`END_TIMEOUT`] after the last fault, or [`GOAL_TIMEOUT`]
    /// after its start. Returns their states.
    ///
    /// # Errors
    ///
    /// Returns an error if a goal cannot be started, or if no server answers any more.
    pub(crate) async fn finish(mut self) -> Result<Vec<GoalEnd>> {
        let mut ends = Vec::new();
        while let Some(lane) = self.lanes.join_next().await {
            ends.extend(lane.context("a person of a goal panicked")??);
        }
        Ok(ends)
    }
}

/// Starts a goal and helps it on until it ends or its time is over.
async fn follow_goal(
    api: &Api,
    number: usize,
    team: &str,
    calm: &CancellationToken,
) -> Result<GoalEnd> {
    let body = json!({
        "goal": format!("Write the chaos text {number}."), "agent": GOAL_AGENT, "own_folder": true,
        "team_file": { "name": "chaos.toml", "text": team },
    });
    let key = format!("goal-{number}");
    let request = api.send_expecting_success(
        Method::POST,
        "/goals",
        Some(&body),
        Some(&key),
        REQUEST_TIMEOUT,
    );
    let created = request
        .await
        .with_context(|| format!("cannot start goal {number}"))?;
    let id = created["id"].as_str().context("the goal has no `id`")?;
    let started = Instant::now();
    let mut calm_since: Option<Instant> = None;
    loop {
        // A goal that no server shows now is read again later.
        let goal = api.get(&format!("/goals/{id}"), REQUEST_TIMEOUT).await;
        let goal = goal.map(|answer| answer.body).unwrap_or_default();
        let state = goal["state"].as_str().unwrap_or("unknown");
        if matches!(state, "done" | "failed") {
            let report = api
                .get(&format!("/goals/{id}/report"), REQUEST_TIMEOUT)
                .await?;
            return Ok(GoalEnd {
                id: id.to_owned(),
                state: state.to_owned(),
                reason: goal["reason"].as_str().map(str::to_owned),
                report: report.body["text"].as_str().unwrap_or_default().to_owned(),
            });
        }
        if calm.is_cancelled() {
            calm_since.get_or_insert_with(Instant::now);
        }
        let overdue = if started.elapsed() > GOAL_TIMEOUT {
            Some(format!("{GOAL_TIMEOUT:?} after its start"))
        } else if calm_since.is_some_and(|since| since.elapsed() > END_TIMEOUT) {
            Some(format!("{END_TIMEOUT:?} after the last fault"))
        } else {
            None
        };
        if let Some(overdue) = overdue {
            // The check of the goals reports the state.
            let (reason, cause) = (&goal["reason"], &goal["cause"]);
            return Ok(GoalEnd {
                id: id.to_owned(),
                state: format!("{state} {overdue}"),
                reason: Some(format!("{reason}, cause {cause}")),
                report: String::new(),
            });
        }
        help(api, id, &goal).await;
        sleep(POLL_INTERVAL).await;
    }
}

/// Answers the questions of a goal. If the goal is stuck, retries its failed tasks and resumes it. Ignores errors, because the
/// goal may have moved on, and a later round helps again.
async fn help(api: &Api, id: &str, goal: &Value) {
    let post = async |path: String, body: Value| {
        let sent = api.send(Method::POST, &path, Some(&body), None, REQUEST_TIMEOUT);
        sent.await.ok();
    };
    for question in goal["questions"].as_array().into_iter().flatten() {
        if let Some(question) = question["id"].as_str() {
            post(
                format!("/questions/{question}/answer"),
                json!({ "text": "one" }),
            )
            .await;
        }
    }
    if goal["state"] != "paused" {
        return;
    }
    let path = format!("/sessions/{id}/tasks");
    let tasks = api.get(&path, REQUEST_TIMEOUT).await;
    let tasks = tasks.map(|answer| answer.body).unwrap_or_default();
    for task in tasks["tasks"].as_array().into_iter().flatten() {
        if let Some(task) = task["id"].as_str().filter(|_| task["status"] == "FAILED") {
            post(format!("/tasks/{task}/retry"), json!({})).await;
        }
    }
    let path = format!("/goals/{id}/resume");
    let resumed = api.send(Method::POST, &path, None, None, REQUEST_TIMEOUT);
    resumed.await.ok();
}

/// The defect of `--break goals`: makes finished tasks ready again, once.
pub(crate) async fn reopen_task(field: Arc<FaultTargets>, stop: CancellationToken) {
    while !stop.is_cancelled() {
        let reopened = field.database.execute(queries::REOPEN_TASKS).await;
        if reopened.is_ok_and(|count| count > 0) {
            return;
        }
        sleep(POLL_INTERVAL / 3).await;
    }
}
