//! `cargo xtask bench`: what Matins costs, beside what it is measured against.
//!
//! Machines are noisy: whatever is compared is measured in one run, by turns where that is possible,
//! and each figure says what it was measured with. Nothing here is a test.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "part of a program of its own: it reads the clock and the environment, and prints"
)]

mod args;
mod bare_client;
mod drain;
mod due;
mod due_burst;
mod fixture;
mod folder;
mod history;
mod idle_server;
mod instant_agent;
mod lag;
mod loops;
mod machine;
mod notify;
mod on_postgres;
mod peers;
mod postgres;
mod programs;
mod riverqueue;
mod sql_baseline;
mod statistics;
mod throughput;
mod traces;
mod turn;

use std::path::Path;

use anyhow::Result;

use self::{
    args::{DatabaseKind, Subject},
    fixture::Fixture,
    folder::new_folder,
    programs::Programs,
    riverqueue::InsertMode,
};

pub use args::Args;
pub use instant_agent::run as instant_agent;

/// Measures the named subjects, or all of them, and prints each figure.
pub async fn run(args: &Args) -> Result<()> {
    std::fs::create_dir_all(&args.folder)?;
    let folder = std::fs::canonicalize(&args.folder)?;
    machine::print(&folder)?;
    let all = args.subjects.is_empty();
    let wanted = |subject| all || args.subjects.contains(&subject);
    let of_server = [Subject::Turn, Subject::Server, Subject::Traces];
    if of_server.into_iter().any(wanted) {
        let programs = Programs::build()?;
        if wanted(Subject::Turn) {
            turn(&programs, &folder, args).await?;
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
    if on(DatabaseKind::Postgres) && on_postgres::POSTGRES_SUBJECTS.into_iter().any(wanted) {
        on_postgres::run(&folder, args, &wanted).await?;
    }
    Ok(())
}

async fn turn(programs: &Programs, folder: &Path, args: &Args) -> Result<()> {
    let folder = new_folder(folder)?;
    let measured = turn::measure(programs, folder.path(), args.turns).await?;
    let ms = |time: std::time::Duration| time.as_secs_f64() * 1000.0;
    let (bare, turn, whole) = (
        ms(measured.bare_client),
        ms(measured.claim_to_end),
        ms(measured.message_to_end),
    );
    println!(
        "\nA turn with an agent that answers at once (SQLite, medians of {} by turns)\n\
         \x20 bare client: start, restore, prompt, end    {bare:8.2} ms\n\
         \x20 turn: from the claim to the end             {turn:8.2} ms  {:+.2} ms, {:.2} times  (at most +5 ms)\n\
         \x20 whole: from the words to the end            {whole:8.2} ms  {:+.2} ms, {:.2} times",
        measured.turns,
        turn - bare,
        turn / bare,
        whole - bare,
        whole / bare,
    );
    Ok(())
}

async fn server(programs: &Programs, folder: &Path, args: &Args) -> Result<()> {
    let folder = new_folder(folder)?;
    let measured = idle_server::measure(programs, folder.path(), args.schedules).await?;
    println!(
        "\nA server with {} idle schedules (SQLite)\n\
         \x20 start to ready                              {:8.0} ms  (at most 150 ms)\n\
         \x20 resident                                    {:8.1} MB  (at most 40 MB)\n\
         \x20 statements a minute                         {:8}     (at most 6)",
        measured.schedules,
        measured.start_time.as_secs_f64() * 1000.0,
        measured.resident_mb(),
        measured.statements_per_minute,
    );
    Ok(())
}

async fn throughput(folder: &Path, args: &Args) -> Result<()> {
    let own = new_folder(folder)?;
    let world = Fixture::open_sqlite(own.path()).await?;
    let runs = throughput::run_no_op_runs(&world, args.runs).await?;
    let mut others = Vec::new();
    for insert in [InsertMode::Single, InsertMode::Batches] {
        let other = new_folder(folder)?;
        others.push(riverqueue::run_no_op_jobs(other.path(), args.runs, insert).await?);
    }
    let own = runs.per_second();
    println!(
        "\nRuns without an agent (SQLite, synchronous=FULL, {} of each, {} under way at once)\n\
         \x20 queue, claim, begin, finish; transcript, events, record   {own:8.0}/s  (at least 3000/s)",
        args.runs,
        throughput::MAX_IN_FLIGHT,
    );
    for (name, other) in ["inserted one by one", "inserted by the thousand"]
        .iter()
        .zip(others)
    {
        let rate = other.per_second();
        println!(
            "  riverqueue 0.5.0, a job alone, {name:<26} {rate:8.0}/s  {:.2} times",
            own / rate
        );
    }
    Ok(())
}

async fn due(folder: &Path, args: &Args) -> Result<()> {
    let own = new_folder(folder)?;
    let world = Fixture::open_sqlite(own.path()).await?;
    let instant = due::create_due_automations(&world, args.triggers).await?;
    let before = machine::peak_mb()?;
    let measured = due::fire_all(&world, instant, args.triggers).await?;
    println!(
        "\n{} triggers due at one instant (SQLite, a fresh session for each)\n\
         \x20 until all runs are committed                {:8.2} s   (at most 5 s)\n\
         \x20 the longest transaction                     {:8.0} ms\n\
         \x20 peak of memory before and after             {before:8.1} MB, {:.1} MB",
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
    let late = |part| statistics::quantile(&measured.latencies, part).as_secs_f64() * 1000.0;
    let grown = measured
        .resident_with_readers_kib
        .saturating_sub(measured.resident_before_kib);
    println!(
        "\n{} readers of live traces of {} sessions, an event a second each (SQLite, {} s)\n\
         \x20 from before the commit to the reader          {:8.1} ms, p99 {:.1} ms, p99.9 {:.1} ms  (p99 at most 50 ms)\n\
         \x20 resident for each reader                    {:8.1} KiB, {} MiB before  (at most 20 KiB)\n\
         \x20 {} connections let go, {} broken by kills: {} events read, {} missed, {} repeated, {} readers behind",
        load.readers,
        load.sessions,
        load.seconds,
        late(0.5),
        late(0.99),
        late(0.999),
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
        "a reader missed an event, or saw one twice"
    );
    Ok(())
}
