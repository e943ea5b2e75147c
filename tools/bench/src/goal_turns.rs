//! Measures the time between the turns of tasks: from the end of the run of a task until the agent of the next one has its
//! prompt.
//!
//! The turns are real: a server ends a run, which moves the goal, starts the next run, and starts a process of the agent.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use api_types::{GoalMove, NewTaskRequest, Task, TaskDetails, TaskRun};
use model::{
    Timestamp,
    goal::{GoalStatus, TaskKind, TaskStatus},
};
use tokio::time::{sleep, timeout};

use super::{
    goal_server::{GoalServer, new_task},
    programs::Programs,
};

/// The number of seats of workers, which is also that of the turns at once: the default of goals.
pub(crate) const WORKERS: u32 = 3;
/// The number of tasks of the large goal.
pub(crate) const LARGE_GOAL_TASKS: usize = LARGE_GOAL_GROUPS * GROUP_TASKS;
/// Groups of tasks, because a request that names each of the tasks would be needlessly large. One task of the planner is
/// below the limit of 10,000, too.
const LARGE_GOAL_GROUPS: usize = 20;
const GROUP_TASKS: usize = 499;
/// The number of turns of the chain before the measured ones. Each connection of the server plans a statement anew in its
/// first uses, and the first turns spread over all connections: six uses on each of ten are 60 turns.
const WARM_UP_TURNS: usize = 80;
/// The number of turns of each seat before the measured ones.
const FIRST_TURNS_OF_SEAT: usize = 5;
/// The answer of the workers.
const DONE: &str =
    "--answer=```json\n{\"status\": \"done\", \"result\": \"Nothing was due.\"}\n```\n";
/// The interval at which the state of a goal is polled after its last turn.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The maximum time from the last turn of a worker to the end of the goal.
const END_TIMEOUT: Duration = Duration::from_mins(1);

/// The times from the ends of runs to the next prompts, sorted.
pub(crate) struct TurnLatencies {
    /// The number of tasks of the chain, and of those side by side.
    pub(crate) tasks: usize,
    /// The times from a task to the one that depends on it.
    pub(crate) chain: Vec<Duration>,
    /// The times from a task to the next one on its seat.
    pub(crate) fan: Vec<Duration>,
    /// The same for as many turns of a goal with many more tasks.
    pub(crate) large: Vec<Duration>,
}

/// Measures goals on a new server, one after the other.
pub(crate) async fn measure(
    programs: &Programs,
    home: &Path,
    database: &[&str],
    tasks: usize,
) -> Result<TurnLatencies> {
    let server = GoalServer::start(programs, home, database, WORKERS, &[DONE]).await?;
    // 1. A chain.
    let chain = (0..tasks + WARM_UP_TURNS).map(|number| {
        let mut task = new_task(format!("task-{number}"));
        task.depends_on = number
            .checked_sub(1)
            .map(|before| format!("task-{before}"))
            .into_iter()
            .collect();
        task
    });
    let ended = take_all_turns(&server, chain.collect()).await?;
    let mut chain = successor_times(&ended, &server.prompts()?)?;
    // 2. Tasks side by side.
    let fan = (0..tasks).map(|number| new_task(format!("task-{number}")));
    let ended = take_all_turns(&server, fan.collect()).await?;
    let mut fan = seat_times(&ended, &server.prompts()?)?;
    // 3. As many turns of a large goal.
    let ended = take_first_turns(&server, large_plan(), tasks).await?;
    let mut large = seat_times(&ended, &server.prompts()?)?;
    server.process.stop().await?;
    for times in [&mut chain, &mut fan, &mut large] {
        times.sort_unstable();
    }
    Ok(TurnLatencies {
        tasks,
        chain,
        fan,
        large,
    })
}

fn large_plan() -> Vec<NewTaskRequest> {
    let groups = (0..LARGE_GOAL_GROUPS).map(|group| {
        let mut task = new_task(format!("group-{group}"));
        task.each = (0..GROUP_TASKS)
            .map(|item| format!("item {item}"))
            .collect();
        task.description = "Do {item}.".into();
        task
    });
    groups.collect()
}

/// Runs a goal to its end. Returns its tasks with their runs.
async fn take_all_turns(
    server: &GoalServer,
    tasks: Vec<NewTaskRequest>,
) -> Result<Vec<TaskDetails>> {
    let before = server.prompts()?.len();
    // The planner adds one task.
    let count = tasks.len() + 1;
    let goal = server.start_goal(tasks).await?;
    server.wait_for_prompts(before + count).await?;
    let over = async {
        loop {
            let state = server.client.goal(&goal).await?.summary.state;
            if !matches!(state, GoalStatus::Draft | GoalStatus::Active) {
                return anyhow::Ok(state);
            }
            sleep(POLL_INTERVAL).await;
        }
    };
    let over = timeout(END_TIMEOUT, over).await;
    let state = over.context("the goal has not ended in time")??;
    ensure!(
        state == GoalStatus::Done,
        "the goal is {state} instead of done"
    );
    let done = done_tasks(server, &goal).await?;
    ensure!(
        done.len() == count,
        "{} tasks are done instead of {count}",
        done.len()
    );
    Ok(done)
}

/// Takes the first `turns` turns of a goal, and cancels it. Returns its done tasks with their runs.
async fn take_first_turns(
    server: &GoalServer,
    tasks: Vec<NewTaskRequest>,
    turns: usize,
) -> Result<Vec<TaskDetails>> {
    let before = server.prompts()?.len();
    let goal = server.start_goal(tasks).await?;
    server.wait_for_prompts(before + turns).await?;
    server.client.move_goal(&goal, GoalMove::Cancel).await?;
    done_tasks(server, &goal).await
}

/// Reads the tasks of workers that are done.
async fn done_tasks(server: &GoalServer, goal: &str) -> Result<Vec<TaskDetails>> {
    let all = server.client.tasks(goal).await?.tasks.into_iter();
    let is_done = |task: &Task| task.kind == TaskKind::Work && task.status == TaskStatus::Done;
    let mut done = Vec::new();
    for task in all.filter(is_done) {
        done.push(server.client.task(&task.id.to_string()).await?);
    }
    Ok(done)
}

/// Returns the times from each task to the one that depends on it, without the first ones.
fn successor_times(
    tasks: &[TaskDetails],
    prompts: &HashMap<String, Duration>,
) -> Result<Vec<Duration>> {
    let by_key: HashMap<&str, &TaskDetails> = tasks
        .iter()
        .map(|task| (task.task.key.as_str(), task))
        .collect();
    let mut times = Vec::with_capacity(tasks.len());
    for task in tasks {
        for key in &task.task.depends_on {
            let before = by_key.get(key.as_str());
            let before = before.and_then(|task| task.runs.last());
            let run = task.runs.first().zip(before);
            let (run, before) = run.context("a task has no run")?;
            times.push((run.started_at, time_between(before, run, prompts)?));
        }
    }
    times.sort_unstable_by_key(|(started, _)| *started);
    let measured = times.into_iter().skip(WARM_UP_TURNS);
    Ok(measured.map(|(_, time)| time).collect())
}

/// Returns the times from each run to the next one on its seat, without the first ones.
fn seat_times(tasks: &[TaskDetails], prompts: &HashMap<String, Duration>) -> Result<Vec<Duration>> {
    let mut by_seat: BTreeMap<&str, Vec<&TaskRun>> = BTreeMap::new();
    for run in tasks.iter().flat_map(|task| &task.runs) {
        by_seat.entry(run.seat.as_str()).or_default().push(run);
    }
    let mut times = Vec::with_capacity(tasks.len());
    for mut runs in by_seat.into_values() {
        runs.sort_unstable_by_key(|run| run.started_at);
        let measured = runs
            .iter()
            .zip(runs.iter().skip(1))
            .skip(FIRST_TURNS_OF_SEAT);
        for (before, run) in measured {
            times.push(time_between(before, run, prompts)?);
        }
    }
    Ok(times)
}

/// Returns the time from the end of a run to the prompt of another one. Server and agents are processes of one machine, so
/// that they have one clock.
///
/// # Errors
///
/// Returns an error if the prompt precedes the end, because such a pair is none of a run and its successor.
fn time_between(
    before: &TaskRun,
    run: &TaskRun,
    prompts: &HashMap<String, Duration>,
) -> Result<Duration> {
    let ended: Timestamp = before.ended_at.context("a run has no end")?;
    let ended = Duration::from_micros(u64::try_from(ended.as_microsecond())?);
    let prompt = prompts.get(&run.id.to_string());
    let prompt = prompt.context("a run of a task has no prompt")?;
    let time = prompt.checked_sub(ended);
    time.context("a prompt precedes the end of the run before it")
}
