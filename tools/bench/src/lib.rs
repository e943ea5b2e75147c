//! `cargo xtask bench`: measures the cost of Matins and prints each figure beside its baseline.
//!
//! - `args`: the benchmarks ([`Args`]) and their sizes.
//! - `lib` and `on_postgres`: run the benchmarks on SQLite and on PostgreSQL, and print the reports.
//! - `turn`, `runtime`, `idle_server`, `throughput`, `drain`, `due`, `due_burst`, `people`, `page`, `lag`, `notify`, `history`,
//!   `tools`, `goals`, `traces`: one benchmark each.
//! - `goal_server`, `goal_turns`, `goal_cancel`: the parts of `goals` with real turns.
//! - `page_requests`: the requests of `page`. `month`, `month_inputs`, `month_rows`, `set_insert`: the history that it needs.
//! - `bare_client`, `sql_baseline`, `peers`: the baselines.
//! - `fixture`, `loops`, `postgres`, `programs`, `runtime_process`: the database, loops and processes that the benchmarks
//!   need.
//! - `prompt_times`: the instants of prompts, as the agent records them.
//!
//! Because machines are noisy, a figure and its baseline are measured in the same run, alternating where that is
//! possible. The benchmarks check that no work is lost, but the targets in their reports are not enforced.
//!
//! Read `turn` first: it is the shortest complete benchmark.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a part of the xtask program, which reads the clock and the environment, and prints"
)]

mod args;
mod bare_client;
mod drain;
mod due;
mod due_burst;
mod fixture;
mod folder;
mod goal_cancel;
mod goal_server;
mod goal_turns;
mod goals;
mod history;
mod idle_server;
mod instant_agent;
mod lag;
mod loops;
mod machine;
mod month;
mod month_inputs;
mod month_rows;
mod notify;
mod on_postgres;
mod page;
mod page_requests;
mod peers;
mod people;
mod postgres;
mod programs;
mod prompt_times;
mod runtime;
mod runtime_process;
mod set_insert;
mod sql_baseline;
mod statistics;
mod throughput;
mod tools;
mod traces;
mod turn;

use std::path::Path;

use anyhow::Result;

use self::{
    args::{DatabaseKind, Subject},
    fixture::Fixture,
    folder::new_folder,
    peers::{SQLITE_INSERTS, SqlitePeer},
    programs::Programs,
};

pub use args::Args;
pub use instant_agent::InstantAgent;

/// Runs the benchmarks that `args` selects, and prints the figures.
pub async fn run(args: &Args) -> Result<()> {
    std::fs::create_dir_all(&args.folder)?;
    let folder = std::fs::canonicalize(&args.folder)?;
    machine::print(&folder)?;
    let all = args.subjects.is_empty();
    let wanted = |subject| all || args.subjects.contains(&subject);
    let with_server = [
        Subject::Turn,
        Subject::Runtime,
        Subject::Server,
        Subject::Traces,
    ];
    if with_server.into_iter().any(wanted) {
        let programs = Programs::build()?;
        if wanted(Subject::Turn) {
            turn(&programs, &folder, args).await?;
        }
        if wanted(Subject::Runtime) {
            let measured = runtime::measure(&programs, &folder, args.turns, args.files).await?;
            runtime::print(&measured);
        }
        if wanted(Subject::Server) {
            server(&programs, &folder, args).await?;
        }
        if wanted(Subject::Traces) {
            traces(&programs, &folder, args).await?;
        }
    }
    let on = |kind| args.database.is_none_or(|only| only == kind);
    if wanted(Subject::Throughput) && on(DatabaseKind::Sqlite) {
        throughput(&folder, args).await?;
    }
    if wanted(Subject::Due) && on(DatabaseKind::Sqlite) {
        due(&folder, args).await?;
    }
    if wanted(Subject::People) && on(DatabaseKind::Sqlite) {
        let measured = people::measure_sqlite(&folder, args.messages).await?;
        on_postgres::print_people("SQLite", &measured);
    }
    if wanted(Subject::Page) && on(DatabaseKind::Sqlite) {
        let programs = Programs::build()?;
        let measured = page::measure_sqlite(&programs, &folder, args.requests).await?;
        page::print("SQLite", &measured);
    }
    if wanted(Subject::Tools) && on(DatabaseKind::Sqlite) {
        let programs = Programs::build()?;
        let measured = tools::measure_sqlite(&programs, &folder, args.seconds).await?;
        tools::print("SQLite", &measured);
    }
    if wanted(Subject::Goals) && on(DatabaseKind::Sqlite) {
        let programs = Programs::build()?;
        let measured = goals::measure_sqlite(&programs, &folder, args.tasks).await?;
        goals::print("SQLite", &measured);
    }
    if on(DatabaseKind::Postgres) && on_postgres::POSTGRES_SUBJECTS.into_iter().any(wanted) {
        on_postgres::run(&folder, args, &wanted).await?;
    }
    Ok(())
}

async fn turn(programs: &Programs, folder: &Path, args: &Args) -> Result<()> {
    let folder = new_folder(folder)?;
    let measured = turn::measure(programs, folder.path(), args.turns).await?;
    let ms = |time: std::time::Duration| time.as_secs_f64() * 1000.0;
    let (bare, turn, total) = (
        ms(measured.bare_client),
        ms(measured.claim_to_end),
        ms(measured.message_to_end),
    );
    println!(
        "\nA turn with an agent that answers at once (SQLite, medians of {} alternating turns)\n\
         \x20 bare client: start, resume, prompt, end     {bare:8.2} ms\n\
         \x20 from the claim to the end of the run        {turn:8.2} ms  {:+.2} ms, {:.2} times  (at most +5 ms)\n\
         \x20 from the message to the end of the run      {total:8.2} ms  {:+.2} ms, {:.2} times",
        measured.turns,
        turn - bare,
        turn / bare,
        total - bare,
        total / bare,
    );
    Ok(())
}

async fn server(programs: &Programs, folder: &Path, args: &Args) -> Result<()> {
    let folder = new_folder(folder)?;
    let measured = idle_server::measure(programs, folder.path(), args.schedules).await?;
    println!(
        "\nA server with {} idle schedules (SQLite)\n\
         \x20 from the start to ready                     {:8.0} ms  (at most 150 ms)\n\
         \x20 resident memory                             {:8.1} MB  (at most 40 MB)\n\
         \x20 database statements per minute              {:8}     (at most 6)",
        measured.schedules,
        measured.start_time.as_secs_f64() * 1000.0,
        measured.resident_mb(),
        measured.statements_per_minute,
    );
    Ok(())
}

async fn throughput(folder: &Path, args: &Args) -> Result<()> {
    let home = new_folder(folder)?;
    let world = Fixture::open_sqlite(home.path()).await?;
    let runs = throughput::run_no_op_runs(&world, args.runs).await?;
    let rate = runs.per_second();
    println!(
        "\nRuns without an agent (SQLite, synchronous=FULL, {} of each, up to {} at once)\n\
         \x20 queue, claim, begin, finish; transcript, events, record   {rate:8.0}/s  (at least 3000/s)",
        args.runs,
        throughput::MAX_IN_FLIGHT,
    );
    if args.without_peers {
        return Ok(());
    }
    let peer = SqlitePeer::build()?;
    for (insert, name) in SQLITE_INSERTS {
        let other = new_folder(folder)?;
        let other = peer.run(other.path(), args.runs, insert).await?;
        println!(
            "  riverqueue {}, jobs only, {name:<28} {:8.0}/s  {:.2} times",
            other.version,
            other.per_second(),
            rate / other.per_second()
        );
    }
    Ok(())
}

async fn due(folder: &Path, args: &Args) -> Result<()> {
    let home = new_folder(folder)?;
    let world = Fixture::open_sqlite(home.path()).await?;
    let instant = due::create_due_automations(&world, args.triggers).await?;
    let before = machine::reset_peak_mb()?;
    let measured = due::fire_all(&world, instant, args.triggers).await?;
    println!(
        "\n{} triggers due at one instant (SQLite, a new session for each)\n\
         \x20 until all runs are committed                {:8.2} s   (at most 5 s)\n\
         \x20 longest transaction                         {:8.0} ms\n\
         \x20 memory before, and its peak                 {before:8.1} MB, {:.1} MB",
        measured.triggers,
        measured.took.as_secs_f64(),
        measured.longest_transaction.as_secs_f64() * 1000.0,
        machine::peak_mb()?,
    );
    Ok(())
}

async fn traces(programs: &Programs, folder: &Path, args: &Args) -> Result<()> {
    let folder = new_folder(folder)?;
    let load = traces::Load {
        readers: args.readers,
        sessions: args.sessions.clamp(1, args.readers),
        seconds: args.seconds,
    };
    let measured = traces::measure(programs, folder.path(), load).await?;
    let latency = |part| statistics::quantile(&measured.latencies, part).as_secs_f64() * 1000.0;
    let grown = measured
        .resident_with_readers_kib
        .saturating_sub(measured.resident_before_kib);
    println!(
        "\n{} readers of the live traces of {} sessions, each with one event per second (SQLite, {} s)\n\
         \x20 from before the commit to the reader        {:8.1} ms, p99 {:.1} ms, p99.9 {:.1} ms  (p99 at most 50 ms)\n\
         \x20 resident memory for each reader             {:8.1} KiB, {} MiB without readers  (at most 20 KiB)\n\
         \x20 {} connections closed by readers, {} broken by kills: {} events read, {} missed, {} repeated, {} readers behind",
        load.readers,
        load.sessions,
        load.seconds,
        latency(0.5),
        latency(0.99),
        latency(0.999),
        f64::from(u32::try_from(grown)?) / f64::from(u32::try_from(load.readers)?),
        measured.resident_before_kib / 1024,
        measured.dropped_connections,
        measured.broken_connections,
        measured.events,
        measured.missed_events,
        measured.repeated_events,
        measured.lagging_readers,
    );
    anyhow::ensure!(
        measured.missed_events + measured.repeated_events == 0 && measured.lagging_readers == 0,
        "a reader missed an event or received an event twice"
    );
    Ok(())
}
