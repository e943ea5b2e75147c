//! Runs the benchmarks on PostgreSQL and prints their reports. All use one private server, each with its own database.

use std::{path::Path, time::Duration};

use anyhow::Result;

use super::{
    args::{Args, Subject},
    drain::{self, DrainCost, QueueShape},
    due_burst,
    fixture::Fixture,
    folder::new_folder,
    goals,
    history::{self, HistoryMeasurement, HistorySize},
    lag, notify, page,
    peers::{self, PeerPrograms},
    people::{self, PeopleMeasurement},
    programs::Programs,
    sql_baseline,
    statistics::{format_quantiles, ms, quantile},
    throughput::{self, MAX_IN_FLIGHT},
    tools,
};
use crate::postgres::PostgresServer;

/// The settings of the server, which are the same for a figure and its baseline.
const SERVER_SETTINGS: &[&str] = &[
    "shared_buffers=1GB",
    "max_wal_size=8GB",
    "checkpoint_timeout=15min",
    "max_connections=200",
    // `due_burst` reads the commit times of runs afterwards.
    "track_commit_timestamp=on",
    // The disks are solid-state. With the default for rotating disks, a batch of a thousand rows scans whole tables.
    "random_page_cost=1.1",
    // These are the defaults; they are set because the figures depend on them.
    "fsync=on",
    "synchronous_commit=on",
    "full_page_writes=on",
    "autovacuum=on",
];

/// The benchmarks that need the server.
pub(crate) const POSTGRES_SUBJECTS: [Subject; 11] = [
    Subject::Throughput,
    Subject::Drain,
    Subject::LongRead,
    Subject::Due,
    Subject::People,
    Subject::Page,
    Subject::Tools,
    Subject::Goals,
    Subject::Lag,
    Subject::Notify,
    Subject::History,
];

/// Runs the wanted benchmarks.
pub(crate) async fn run(
    folder: &Path,
    args: &Args,
    wanted: &(impl Fn(Subject) -> bool + Sync),
) -> Result<()> {
    let home = new_folder(folder)?;
    let server = PostgresServer::start(home.path(), SERVER_SETTINGS).await?;
    let settings = SERVER_SETTINGS.join(", ");
    println!("\nPostgreSQL {}: {settings}", server.version());
    if wanted(Subject::Throughput) {
        throughput(&server, folder, args).await?;
    }
    if wanted(Subject::Drain) {
        drain(&server, folder, args).await?;
        if !args.without_peers {
            peers(&server, args).await?;
        }
    }
    if wanted(Subject::LongRead) {
        long_read(&server, folder, args).await?;
    }
    if wanted(Subject::Due) {
        due(&server, folder, args).await?;
    }
    if wanted(Subject::People) {
        let measured = people::measure_postgres(&server, folder, args.messages).await?;
        print_people("PostgreSQL", &measured);
    }
    if wanted(Subject::Page) {
        let programs = Programs::build()?;
        let measured = page::measure_postgres(&programs, &server, folder, args.requests).await?;
        page::print("PostgreSQL", &measured);
    }
    if wanted(Subject::Tools) {
        let programs = Programs::build()?;
        let measured = tools::measure_postgres(&programs, &server, folder, args.seconds).await?;
        tools::print("PostgreSQL", &measured);
    }
    if wanted(Subject::Goals) {
        let programs = Programs::build()?;
        let measured = goals::measure_postgres(&programs, &server, folder, args.tasks).await?;
        goals::print("PostgreSQL", &measured);
    }
    if wanted(Subject::Lag) {
        lag(&server, folder, args).await?;
    }
    if wanted(Subject::Notify) {
        notify(&server, folder, args).await?;
    }
    if wanted(Subject::History) {
        history(&server, folder, args).await?;
    }
    server.stop();
    Ok(())
}

/// Formats the ratios of the medians and of the 99th percentiles.
fn format_ratios(one: &[Duration], other: &[Duration]) -> String {
    let at = |part| ms(quantile(one, part)) / ms(quantile(other, part));
    format!("p50 {:.2} times, p99 {:.2} times", at(0.5), at(0.99))
}

/// Prints the report of the messages of people on one database.
pub(crate) fn print_people(database: &str, measured: &PeopleMeasurement) {
    let deadlocks = measured.deadlocks.map(|count| count.to_string());
    println!(
        "\n{} messages of {} people to {} sessions, whose turns begin, write and end meanwhile ({database})\n\
         \x20 from the call until the message is committed  {}  (p99 at most 100 ms)\n\
         \x20 messages                                      {:8.0}/s\n\
         \x20 deadlocks                                     {:>8}  (none), {} calls refused as busy",
        measured.latencies.len(),
        people::PEOPLE,
        people::SESSIONS,
        format_quantiles(&measured.latencies),
        measured.per_second(),
        deadlocks.as_deref().unwrap_or("-"),
        measured.repeated_calls,
    );
}

async fn throughput(server: &PostgresServer, folder: &Path, args: &Args) -> Result<()> {
    let home = new_folder(folder)?;
    let database = server.create_database("matins_throughput").await?;
    let world = Fixture::open_postgres(&database, home.path()).await?;
    let runs = throughput::run_no_op_runs(&world, args.runs).await?;
    world.store.database().close().await;
    server.drop_database(&database).await?;
    println!(
        "\nRuns without an agent (PostgreSQL, {} runs, up to {} at once)\n\
         \x20 queue, claim, begin, finish; transcript, events, record   {:8.0}/s",
        args.runs,
        MAX_IN_FLIGHT,
        runs.per_second(),
    );
    Ok(())
}

async fn drain(server: &PostgresServer, folder: &Path, args: &Args) -> Result<()> {
    println!(
        "\n{} queued runs to their durable end (PostgreSQL, up to {} at once; plain SQL: batches of {} on \
         {} connections)",
        args.queued,
        args.in_flight,
        sql_baseline::BATCH_RUNS,
        sql_baseline::CONNECTIONS,
    );
    for shape in QueueShape::ALL {
        for _ in 0..args.rounds {
            let matins =
                drain::drain_with_matins(server, folder, shape, args.queued, args.in_flight);
            let (matins, events) = matins.await?;
            let (plain_sql, expected) =
                drain::drain_with_sql(server, folder, shape, args.queued).await?;
            anyhow::ensure!(
                events == expected,
                "Matins wrote {events} events, plain SQL {expected}"
            );
            println!(
                "{}",
                matins.format_line(&format!("Matins, {}", shape.name()))
            );
            println!(
                "{}  {:.2} times",
                plain_sql.format_line("the same rows by plain SQL in batches"),
                throughput_ratio(&matins, &plain_sql)
            );
        }
    }
    Ok(())
}

/// Returns the ratio of the rates of two drains.
fn throughput_ratio(one: &DrainCost, other: &DrainCost) -> f64 {
    let rate = |drained: &DrainCost| drained.throughput.per_second();
    rate(one) / rate(other)
}

async fn peers(server: &PostgresServer, args: &Args) -> Result<()> {
    let programs = PeerPrograms::build()?;
    println!(
        "\n{} no-op jobs of other queues to their end, jobs only (or as many as they complete in 60 s)",
        args.queued
    );
    for peer in peers::PEERS {
        for settings in peers::PEER_SETTINGS {
            let database = server.create_database("peer").await?;
            let drained = programs
                .drain(peer, settings, &database, args.queued)
                .await?;
            server.drop_database(&database).await?;
            let name = format!("{peer} {}, {settings}", drained.version);
            println!(
                "  {name:<40} {:8.0}/s  {} jobs in {:.2} s  {}",
                drained.per_second(),
                drained.jobs,
                drained.seconds,
                drained.settings,
            );
        }
    }
    Ok(())
}

async fn long_read(server: &PostgresServer, folder: &Path, args: &Args) -> Result<()> {
    println!(
        "\n{} queued runs during one open transaction of repeatable read (PostgreSQL, up to {} at once)",
        args.queued, args.in_flight,
    );
    let (queued, in_flight) = (args.queued, args.in_flight);
    for _ in 0..args.rounds {
        let clean = drain::drain_with_matins(server, folder, QueueShape::Seats, queued, in_flight);
        let (clean, _) = clean.await?;
        let during =
            drain::drain_during_long_read(server, folder, QueueShape::Seats, queued, in_flight);
        let (during, _) = during.await?;
        println!("{}", clean.format_line("without the transaction"));
        println!(
            "{}  {:.2} times  (at least 0.9)",
            during.format_line("during the transaction"),
            throughput_ratio(&during, &clean)
        );
    }
    Ok(())
}

async fn due(server: &PostgresServer, folder: &Path, args: &Args) -> Result<()> {
    let measured = due_burst::measure(server, folder, args.triggers).await?;
    println!(
        "\n{} triggers due at one instant (PostgreSQL, a server's scheduler, a new session for each)\n\
         \x20 until all runs are committed                {:8.2} s   (at most 3 s)\n\
         \x20 another tenant's, due every 100 ms meanwhile {}, {} runs  (at most 1 s)\n\
         \x20 memory before, and its peak                 {:8.1} MB, {:.1} MB",
        args.triggers,
        measured.took.as_secs_f64(),
        format_quantiles(&measured.other_tenant_lags),
        measured.other_tenant_lags.len(),
        measured.peak_mb.0,
        measured.peak_mb.1,
    );
    Ok(())
}

async fn lag(server: &PostgresServer, folder: &Path, args: &Args) -> Result<()> {
    let each = args.due_each_second;
    println!(
        "\n{each} schedules due at each of {} seconds (PostgreSQL, a new session for each, more slots than runs)",
        lag::DUE_INSTANTS
    );
    let measured = lag::measure(server, folder, each).await?;
    println!(
        "  from the due instant to the claim             {}  (p99 at most 20 ms)\n\
         \x20 from the due instant to the claim's commit    {}",
        format_quantiles(&measured.claim_lags),
        format_quantiles(&measured.commit_lags),
    );
    Ok(())
}

async fn notify(server: &PostgresServer, folder: &Path, args: &Args) -> Result<()> {
    let count = usize::try_from(args.operations)?;
    let measured = notify::measure(server, folder, count).await?;
    println!(
        "\nFrom before a commit to a reader in another process that has its row (PostgreSQL, {count} of each, alternating)\n\
         \x20 a reader of a session log                     {}\n\
         \x20 bare listen and notify, an equal row          {}\n\
         \x20                                               {}  (p99 at most 1.5 times)\n\
         \x20 a seat message, from before its publication   {}\n\
         \x20                                               {}  (p99 at most 1.5 times)\n\
         \x20 a seat message, from its publication's return {}",
        format_quantiles(&measured.matins),
        format_quantiles(&measured.bare),
        format_ratios(&measured.matins, &measured.bare),
        format_quantiles(&measured.message_from_publish),
        format_ratios(&measured.message_from_publish, &measured.bare),
        format_quantiles(&measured.message_from_commit),
    );
    Ok(())
}

async fn history(server: &PostgresServer, folder: &Path, args: &Args) -> Result<()> {
    let history = HistorySize {
        ended_runs: args.ended,
        idle_triggers: args.idle_triggers,
    };
    let measured = history::measure(server, folder, history, args.operations).await?;
    println!(
        "\n{} ended runs and {} idle triggers, compared with none (PostgreSQL, {} of each, alternating)\n\
         \x20 loaded in {:.0} s: {}",
        args.ended,
        args.idle_triggers,
        args.operations,
        measured.load_time.as_secs_f64(),
        measured.database_size,
    );
    let HistoryMeasurement { empty, full, .. } = &measured;
    for (operation, none, long) in [
        ("a tick that fires one run", &empty.ticks, &full.ticks),
        ("a claim of one run", &empty.claims, &full.claims),
    ] {
        println!(
            "  {operation:<25} without  {}\n  {:<25} with     {}  {}  (at most 1.2 times)",
            format_quantiles(none),
            "",
            format_quantiles(long),
            format_ratios(long, none),
        );
    }
    Ok(())
}
