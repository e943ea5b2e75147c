//! Measures goals: the publication of large plans, the time between the turns of tasks, and the cancellation of a goal whose
//! agents are at work.

use std::{
    collections::BTreeMap,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use model::{
    SessionId,
    entity::SeatSettings,
    goal::{GoalBudget, NewTask, PLANNER, Plan, WORKER},
    team::{SeatDefinition, TeamDefinition, TeamLimits},
};
use store::{GoalChange, NewGoal};

use super::{
    fixture::{Fixture, now},
    folder::new_folder,
    goal_cancel::{self, CancelMeasurement},
    goal_turns::{self, LARGE_GOAL_TASKS, TurnLatencies},
    machine,
    postgres::PostgresServer,
    programs::Programs,
    statistics::{format_median_and_max, format_quantiles, median, ms},
};

/// The number of publications of each size, by turns.
const PUBLISH_ROUNDS: usize = 5;
/// The numbers of tasks of a small plan and of a large one, which is the highest that a goal can have.
const PLAN_SIZES: [u32; 2] = [1_000, 10_000];
/// The number of earlier tasks on which each task depends.
const DEPENDENCIES: u32 = 2;

/// The result of the benchmark on one database.
pub(crate) struct GoalsMeasurement {
    publications: PublishMeasurement,
    turns: TurnLatencies,
    cancel: CancelMeasurement,
}

/// The publications of plans.
struct PublishMeasurement {
    /// The median times of the small plans and of the large ones.
    medians: [Duration; 2],
    /// The memory of this process before the publications, and its peak during them, in MB.
    peak_mb: (f64, f64),
}

/// Measures goals on a SQLite file.
pub(crate) async fn measure_sqlite(
    programs: &Programs,
    folder: &Path,
    tasks: usize,
) -> Result<GoalsMeasurement> {
    let home = new_folder(folder)?;
    let world = Fixture::open_sqlite(home.path()).await?;
    let publications = measure_publications(&world).await?;
    world.store.database().close().await;
    let home = new_folder(folder)?;
    let turns = goal_turns::measure(programs, home.path(), &[], tasks).await?;
    let home = new_folder(folder)?;
    let cancel = goal_cancel::measure(programs, home.path(), &[]).await?;
    Ok(GoalsMeasurement {
        publications,
        turns,
        cancel,
    })
}

/// Measures goals on PostgreSQL databases.
pub(crate) async fn measure_postgres(
    programs: &Programs,
    server: &PostgresServer,
    folder: &Path,
    tasks: usize,
) -> Result<GoalsMeasurement> {
    // 1. The publications, through the store.
    let home = new_folder(folder)?;
    let database = server.create_database("matins_goals_publish").await?;
    let world = Fixture::open_postgres(&database, home.path()).await?;
    let publications = measure_publications(&world).await?;
    world.store.database().close().await;
    server.drop_database(&database).await?;
    // 2. The turns and the cancellations, by servers.
    let home = new_folder(folder)?;
    let database = server.create_database("matins_goals_turns").await?;
    let options = ["--database", database.url.as_str()];
    let turns = goal_turns::measure(programs, home.path(), &options, tasks).await?;
    server.drop_database(&database).await?;
    let home = new_folder(folder)?;
    let database = server.create_database("matins_goals_cancel").await?;
    let options = ["--database", database.url.as_str()];
    let cancel = goal_cancel::measure(programs, home.path(), &options).await?;
    server.drop_database(&database).await?;
    Ok(GoalsMeasurement {
        publications,
        turns,
        cancel,
    })
}

async fn measure_publications(world: &Fixture) -> Result<PublishMeasurement> {
    let before = machine::reset_peak_mb()?;
    let mut times = [const { Vec::new() }; 2];
    // The first publications prepare the statements.
    publish(world, PLAN_SIZES[0]).await?;
    for _ in 0..PUBLISH_ROUNDS {
        for (times, size) in times.iter_mut().zip(PLAN_SIZES) {
            times.push(publish(world, size).await?);
        }
    }
    Ok(PublishMeasurement {
        medians: times.map(median),
        peak_mb: (before, machine::peak_mb()?),
    })
}

/// Publishes a plan in a new goal. Returns the time until it is committed.
async fn publish(world: &Fixture, size: u32) -> Result<Duration> {
    // A draft starts no turn, so that the publication alone is measured.
    let session = create_draft(world, size).await?;
    let plan = Plan {
        tasks: (0..size).map(new_task).collect(),
        drops: Vec::new(),
    };
    let change = GoalChange::Publish { version: 0, plan };
    let began = Instant::now();
    world
        .store
        .change_goal(world.tenant, session, &change, now())
        .await?;
    Ok(began.elapsed())
}

/// Returns a task that depends on the tasks before it.
fn new_task(number: u32) -> NewTask {
    let key = |number: u32| format!("ticket-{number}");
    let mut task = NewTask::new(&key(number), WORKER);
    task.title = format!("Label ticket {number}");
    task.description = format!(
        "Read ticket {number}, choose one of the labels of labels.md, and write it into the table. \
         Change no other ticket. If two labels fit, take the first one."
    );
    task.acceptance = vec![format!("Ticket {number} has one label.")];
    task.depends_on = (1..=DEPENDENCIES.min(number))
        .map(|back| key(number - back))
        .collect();
    task
}

async fn create_draft(world: &Fixture, size: u32) -> Result<SessionId> {
    let session = SessionId::generate(now(), &*world.entropy);
    let mut limits = TeamLimits::default();
    (limits.graph.plan, limits.graph.tasks) = (size, size);
    let mut planner = SeatDefinition::new(PLANNER);
    planner.is_entry = true;
    let team = TeamDefinition {
        name: "bench".into(),
        limits,
        checks: BTreeMap::new(),
        seats: vec![planner, SeatDefinition::new(WORKER)],
    };
    let agents = vec![(world.agent, SeatSettings::default()); team.seats().len()];
    let new = NewGoal {
        session,
        text: "Label the tickets.".into(),
        key: None,
        title: None,
        cwd: None,
        placed_on: None,
        team,
        approve_plan: false,
        agents,
        budget: GoalBudget::default(),
        until: None,
        draft: true,
    };
    let created = world.store.create_goal(world.tenant, &new, now()).await?;
    ensure!(created == session, "the goal has another session");
    Ok(session)
}

/// Prints the report of one database.
pub(crate) fn print(database: &str, measured: &GoalsMeasurement) {
    let GoalsMeasurement {
        publications,
        turns,
        cancel,
    } = measured;
    let [small, large] = publications.medians.map(ms);
    let [small_size, large_size] = PLAN_SIZES;
    println!(
        "\nPlans of goals, each task with a text and {DEPENDENCIES} dependencies ({database}, medians of {PUBLISH_ROUNDS}, \
         alternating)\n\
         \x20 {small_size:6} tasks, until they are committed           {small:8.0} ms\n\
         \x20 {large_size:6} tasks, until they are committed           {large:8.0} ms, {:.1} times  (at most 2000 ms, 12 times)\n\
         \x20 memory before, and its peak                      {:8.1} MB, {:.1} MB",
        large / small,
        publications.peak_mb.0,
        publications.peak_mb.1,
    );
    println!(
        "\nFrom the end of a task to the prompt of its successor, agents that answer at once ({database}, up to {} turns at once)\n\
         \x20 a chain of {:5} tasks         {}  (p99 at most 50 ms)\n\
         \x20 {:5} tasks side by side       {}  (p99 at most 50 ms)\n\
         \x20 the same in a goal of {LARGE_GOAL_TASKS:5}   {}  (p99 at most 50 ms)",
        goal_turns::WORKERS,
        turns.tasks,
        format_quantiles(&turns.chain),
        turns.tasks,
        format_quantiles(&turns.fan),
        format_quantiles(&turns.large),
    );
    println!(
        "\nCancellation of a goal with {} turns under way, {} processes in all ({database}, {} times)\n\
         \x20 until no process is left     {}  (at most 20 s)",
        goal_cancel::WORKERS,
        cancel.processes,
        cancel.times.len(),
        format_median_and_max(&cancel.times),
    );
}
