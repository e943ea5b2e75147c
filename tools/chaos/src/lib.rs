//! `cargo xtask chaos`: a fault injection test. It starts real servers on a real PostgreSQL, or one on a SQLite file, with
//! real processes of scripted agents. Simulated people send requests, and readers follow the sessions. Meanwhile, a seed
//! selects the faults. At the end, a checker that shares no code with the product compares the records of all participants.
//!
//! A test has three phases: faults (`faults`), recovery until no run is open (`recovery`), and the checks of the
//! recorded history (`check`):
//!
//! ```text
//! Environment ── servers, database, runtimes in folders, Workload (tenants, agents, automations)
//!      │
//!      ├─ FaultInjector ×4        kill, freeze and disconnect
//!      ├─ people, monitor         requests (RequestLog), probes (ProbeLog)
//!      ├─ GoalPeople              goals of teams of agents, from their start to their end
//!      ├─ foreign_files           files of other programs (ForeignFileLog)
//!      └─ Recorders               received events of each session
//!               │
//!            History ── check::run_all ── Check ×14 ── report
//! ```
//!
//! Read `run_phases` in this file first, then `faults` and `check`.
//!
//! One temporary folder holds all files: the data and logs of the database and of each replica, the agents' prompt
//! logs and the events that the readers received. The folder is kept if the test fails. The same seed gives the same
//! faults, messages and pauses, but their relative timing depends on the machine.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a part of the xtask program, which reads the clock and the environment, and prints"
)]

mod args;
mod automation_plans;
mod blocking;
mod check;
mod database;
mod environment;
mod faketime;
mod faults;
mod folder_faults;
mod folder_history;
mod folder_instance;
mod foreign_files;
mod goal_history;
mod goal_plan;
mod goals;
mod history;
mod http;
mod idle_connections;
mod monitor;
mod people;
mod postgres;
mod postgres_faults;
mod processes;
mod programs;
mod proxy;
mod queries;
mod recorder;
mod recovery;
mod replica;
mod report;
mod rng;
mod sqlite;
mod supervised;
mod trigger_folder;
mod workload;

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, Result, anyhow, ensure};
use jiff::Timestamp;
use tokio::{
    signal::unix::{SignalKind, signal},
    task::JoinSet,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

pub use args::Args;

use self::{
    args::Defect,
    environment::Environment,
    folder_history::FolderHistory,
    folder_instance::FolderInstance,
    foreign_files::ForeignFileLog,
    goal_history::GoalHistory,
    goals::GoalPeople,
    history::{History, Measurements},
    monitor::ProbeLog,
    people::RequestLog,
    recorder::Recorders,
    replica::Replica,
    rng::Rng,
};

/// Runs the test with one seed, checks the result, and prints a report.
///
/// # Errors
///
/// Returns an error if a check finds a violation, if a run or server does not end in time, if a fault kind never
/// finds a target, if the test environment cannot be built, or if the process receives SIGINT or SIGTERM.
pub async fn run(args: &Args) -> Result<()> {
    args.replica_count()?;
    let minutes = Duration::try_from_secs_f64(args.minutes * 60.0).with_context(|| {
        format!(
            "invalid `--minutes` {}: use a number such as 0.5",
            args.minutes
        )
    })?;
    let seed = if let Some(seed) = args.seed {
        seed
    } else {
        let mut random = [0; 4];
        getrandom::fill(&mut random).context("cannot read randomness for the seed")?;
        u32::from_ne_bytes(random).into()
    };
    println!(
        "Chaos test on {}: {} minutes of faults with seed {seed}.",
        args.database.name(),
        args.minutes
    );
    let folder = tempfile::Builder::new().prefix("matins-chaos-").tempdir()?;
    let root = folder.path().to_owned();
    let mut terminated = signal(SignalKind::terminate())?;
    let result = tokio::select! {
        result = run_phases(args, &root, minutes, seed) => result,
        _ = tokio::signal::ctrl_c() => Err(anyhow!("stopped by Ctrl-C")),
        _ = terminated.recv() => Err(anyhow!("stopped by SIGTERM")),
    };
    // `run_phases` has dropped its `Environment`, which kills the servers and PostgreSQL, and the guards kill the
    // agents when their server is dead. Kill any process that is left, so that a failed test leaves none on the
    // machine.
    let left = recovery::wait_for_survivors(&root).await;
    for process in &left {
        processes::signal(process.pid, rustix::process::Signal::KILL);
    }
    if args.keep || result.is_err() {
        let kept = folder.keep();
        println!("All files are kept in {}", kept.display());
    }
    result.with_context(|| format!("the chaos test with seed {seed} failed"))
}

/// The observers, which record the test from the first fault until the last run has ended.
struct Observers {
    requests: RequestLog,
    probes: ProbeLog,
    foreign_files: ForeignFileLog,
    recorders: Recorders,
    monitor: JoinSet<Measurements>,
    /// Stops the task in `monitor`.
    stop: CancellationToken,
}

/// Builds the environment, injects faults for `minutes`, waits for the recovery, and checks the history.
async fn run_phases(args: &Args, root: &Path, minutes: Duration, seed: u64) -> Result<()> {
    // 1. Build the environment and start the observers.
    let dice = Rng::new(seed);
    let stage = Environment::build(args, root, &dice).await?;
    let (field, world) = (&stage.targets, &stage.workload);
    let readings = root.join("readings");
    std::fs::create_dir(&readings)?;
    let mut witnesses = Observers {
        requests: RequestLog::default(),
        probes: ProbeLog::default(),
        foreign_files: ForeignFileLog::default(),
        recorders: Recorders::start(world, &readings, &dice)?,
        monitor: JoinSet::new(),
        stop: CancellationToken::new(),
    };
    let measuring = monitor::measure(field.clone(), witnesses.stop.clone());
    witnesses.monitor.spawn(measuring);
    let (faults_end, people_end) = (CancellationToken::new(), CancellationToken::new());
    let mut people = people::start(world, &dice, &witnesses.requests, &people_end);
    people.spawn(monitor::probe_other_tenant(
        world,
        dice.derive("strangers"),
        witnesses.probes.clone(),
        people_end.clone(),
    ));
    let files = &witnesses.foreign_files;
    let mut programs = foreign_files::start(&stage.file_targets(), &dice, files, &people_end);
    // 2. Inject faults while people and strangers send requests, and programs drop files.
    // A server of an earlier version knows no goals.
    let goal_count = if args.earlier.is_none() {
        args.goals
    } else {
        0
    };
    let folder = root.to_string_lossy();
    let at_once = usize::from(args.goals_at_once);
    let goal_people = GoalPeople::start(world, &folder, goal_count, at_once, &faults_end);
    let mut injectors = faults::start(field, &dice, goal_count > 0, &faults_end);
    if args.defect == Some(Defect::Goals) {
        injectors.spawn(goals::reopen_task(Arc::clone(field), faults_end.clone()));
    }
    println!("The environment is ready; faults begin now.");
    let began = Instant::now();
    tokio::join!(sleep(minutes), goal_people.wait_for_starts());

    // 3. Stop the faults, then the people. Each fault task repairs its last fault before it ends.
    faults_end.cancel();
    while injectors.join_next().await.is_some() {}
    people_end.cancel();
    while people.join_next().await.is_some() {}
    while programs.join_next().await.is_some() {}
    let took = began.elapsed();
    println!("The faults have ended after {took:.0?}; waiting for the recovery.");
    let goal_ends = goal_people.finish().await?;
    // 4. Let the system recover, and wait until no run is open. Every instant up to `until` must have its row,
    // because the automations are paused only later.
    let until = Timestamp::now().as_microsecond();
    if !args.later_policies.is_empty() {
        stage.end_upgrade().await?;
    }
    recovery::wait_for_recovery(field, world, until).await?;
    people::send_after_faults(world, &dice, &witnesses.requests).await;
    let mut complaints = recovery::quiesce(field, world).await?;
    let waiting_files = recovery::wait_for_files(field).await?;
    // 5. Stop everything, collect the records, and check them.
    let mut history = collect_history(&stage, root, witnesses, &mut complaints).await?;
    if goal_count > 0 {
        history.goals = Some(GoalHistory::read(&field.database, goal_ends).await?);
    }
    history.due_until = until;
    if let Some(folders) = &mut history.folders {
        folders.waiting_files = waiting_files;
    }
    println!("No run is open any more; checking the history.");
    let broken = report::print(&history, field, &complaints);
    match args.defect {
        Some(defect) => {
            let name = defect.check();
            ensure!(
                broken.contains(&name),
                "the check `{name}` has not found the defect"
            );
            println!("The check `{name}` has found the defect.");
        }
        None => ensure!(broken.is_empty(), "{} checks are broken", broken.len()),
    }
    Ok(())
}

/// Stops the observers and the servers, and returns the history that the checks read.
async fn collect_history(
    stage: &Environment,
    root: &Path,
    mut witnesses: Observers,
    complaints: &mut Vec<String>,
) -> Result<History> {
    let (field, world) = (&stage.targets, &stage.workload);
    let recordings = witnesses
        .recorders
        .finish(recovery::last_seqs(field).await?)
        .await?;
    witnesses.stop.cancel();
    let measured = witnesses.monitor.join_next().await;
    let mut measured = measured.context("the monitor returned no measurements")??;
    // Read the memory before the servers stop: `/proc` has no figures of a process that has ended.
    let resident = |replica: &Replica| processes::resident_kib(replica.process.pid()?);
    measured.resident_kib = field.replicas.iter().filter_map(resident).collect();
    let runtimes = field.folders.iter();
    let resident = |instance: &FolderInstance| processes::resident_kib(instance.runtime.pid()?);
    measured.resident_kib.extend(runtimes.filter_map(resident));
    let mut survivors = recovery::wait_for_survivors(root).await;
    complaints.extend(field.problems());
    for instance in &field.folders {
        if !instance.runtime.stop().await {
            complaints.push(format!(
                "runtime {} did not stop in time",
                instance.config.number
            ));
        }
    }
    for replica in &field.replicas {
        if !replica.process.stop().await {
            complaints.push(format!(
                "replica {} did not stop in time",
                replica.config.number
            ));
        }
    }
    // Search again after the stop of the servers, because a server could leave an agent behind at its own end. Skip
    // this search if the first one found survivors: the stop may have killed them, which would hide the violation.
    if survivors.is_empty() {
        survivors = recovery::wait_for_survivors(root).await;
    }
    // A recording without a session is that of a reader whose automation never created its session.
    let followed = recordings.into_iter();
    let followed = followed.filter(|recording| !recording.session.is_empty());
    let mut history = History {
        recordings: followed.collect(),
        requests: witnesses.requests.all(),
        probes: witnesses.probes.all(),
        measurements: measured,
        survivors,
        server_count: field.replicas.len() + field.folders.len(),
        folders: collect_folders(stage, &witnesses.foreign_files).await?,
        ..History::read(&field.database, &world.agent_homes).await?
    };
    let mut secrets = vec![("the canary", stage.canary.as_str())];
    let password = field.database.password();
    secrets.extend(password.map(|password| ("the database's password", password)));
    secrets.extend(world.tokens.iter().map(|token| ("a token", token.as_str())));
    recovery::search_secrets(&mut history, root, &field.database, &secrets).await?;
    for replica in &field.replicas {
        recovery::scan_log(&mut history, &replica.config.log)?;
    }
    for instance in &field.folders {
        recovery::scan_log(&mut history, &instance.config.log())?;
    }
    Ok(history)
}

/// Returns the records of the instances in folders. Returns `None` if the test has none.
async fn collect_folders(
    stage: &Environment,
    files: &ForeignFileLog,
) -> Result<Option<FolderHistory>> {
    let field = &stage.targets;
    if field.folders.is_empty() {
        return Ok(None);
    }
    let mut folders = FolderHistory::read(&field.database).await?;
    folders.foreign_files = files.all();
    for replica in &field.replicas {
        folders.server_pids.extend(replica.process.pids());
    }
    for instance in &field.folders {
        folders.runtime_pids.extend(instance.runtime.pids());
        folders.rejected.extend(instance.folder.rejected_files()?);
    }
    Ok(Some(folders))
}
