//! What is measured on PostgreSQL: one private server, a database of its own for each.

use std::{path::Path, time::Duration};

use anyhow::Result;

use super::{
    args::{Args, Subject},
    drain::{self, DrainCost, QueueShape},
    due_burst,
    fixture::Fixture,
    folder::new_folder,
    history::{self, HistoryMeasurement, HistorySize},
    lag, notify,
    peers::{self, PeerPrograms},
    sql_baseline,
    statistics::quantile,
    throughput::{self, MAX_IN_FLIGHT},
};
use crate::postgres::PostgresServer;

/// How the server is set, which is one for all that is measured beside each other.
const SERVER_SETTINGS: &[&str] = &[
    "shared_buffers=1GB",
    "max_wal_size=8GB",
    "checkpoint_timeout=15min",
    "max_connections=200",
    // To know afterwards when a run was committed.
    "track_commit_timestamp=on",
    // Of a disk without moving parts: else a batch of a thousand reads whole tables.
    "random_page_cost=1.1",
    // As they are unless somebody changes them; named because figures depend on them.
    "fsync=on",
    "synchronous_commit=on",
    "full_page_writes=on",
    "autovacuum=on",
];

/// What needs the server.
pub(crate) const POSTGRES_SUBJECTS: [Subject; 7] = [
    Subject::Throughput,
    Subject::Drain,
    Subject::LongRead,
    Subject::Due,
    Subject::Lag,
    Subject::Notify,
    Subject::History,
];

/// Measures what is wanted.
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

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// The middle one, the one that a hundredth is above, and the last one.
fn format_quantiles(sorted: &[Duration]) -> String {
    let at = |part| ms(quantile(sorted, part));
    format!(
        "p50 {:8.2} ms, p99 {:8.2} ms, max {:8.2} ms",
        at(0.5),
        at(0.99),
        at(1.0)
    )
}

/// How many times as long as the other one the median takes, and what a hundredth is above.
fn format_ratios(one: &[Duration], other: &[Duration]) -> String {
    let at = |part| ms(quantile(one, part)) / ms(quantile(other, part));
    format!("p50 {:.2} times, p99 {:.2} times", at(0.5), at(0.99))
}

async fn throughput(server: &PostgresServer, folder: &Path, args: &Args) -> Result<()> {
    let own = new_folder(folder)?;
    let database = server.create_database("matins_throughput").await?;
    let world = Fixture::open_postgres(&database, own.path()).await?;
    let runs = throughput::run_no_op_runs(&world, args.runs).await?;
    world.store.database().close().await;
    server.drop_database(&database).await?;
    println!(
        "\nRuns without an agent (PostgreSQL, {} of each, {} under way at once)\n\
         \x20 queue, claim, begin, finish; transcript, events, record   {:8.0}/s",
        args.runs,
        MAX_IN_FLIGHT,
        runs.per_second(),
    );
    Ok(())
}

async fn drain(server: &PostgresServer, folder: &Path, args: &Args) -> Result<()> {
    println!(
        "\n{} queued runs to their durable end (PostgreSQL, {} under way at once; by hand: batches of {} on \
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
            let (by_hand, same) = drain::drain_with_sql(server, folder, shape, args.queued).await?;
            anyhow::ensure!(events == same, "{events} events, by hand {same}");
            println!(
                "{}",
                matins.format_line(&format!("Matins, {}", shape.name()))
            );
            println!(
                "{}  {:.2} times",
                by_hand.format_line("the same rows by statements in batches"),
                throughput_ratio(&matins, &by_hand)
            );
        }
    }
    Ok(())
}

/// How many times as many runs a second the first one drains.
fn throughput_ratio(one: &DrainCost, other: &DrainCost) -> f64 {
    let rate = |drained: &DrainCost| drained.throughput.per_second();
    rate(one) / rate(other)
}

async fn peers(server: &PostgresServer, args: &Args) -> Result<()> {
    let programs = PeerPrograms::build()?;
    println!(
        "\n{} no-op jobs of other queues to their end, a job alone (or as many as in 60 s)",
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
        "\n{} queued runs beside a transaction of repeatable read that is open all the time (PostgreSQL, {} \
         under way at once)",
        args.queued, args.in_flight,
    );
    let (queued, in_flight) = (args.queued, args.in_flight);
    for _ in 0..args.rounds {
        let clean = drain::drain_with_matins(server, folder, QueueShape::Seats, queued, in_flight);
        let (clean, _) = clean.await?;
        let beside =
            drain::drain_during_long_read(server, folder, QueueShape::Seats, queued, in_flight);
        let (beside, _) = beside.await?;
        println!("{}", clean.format_line("clean"));
        println!(
            "{}  {:.2} times  (at least 0.9)",
            beside.format_line("beside it"),
            throughput_ratio(&beside, &clean)
        );
    }
    Ok(())
}

async fn due(server: &PostgresServer, folder: &Path, args: &Args) -> Result<()> {
    let measured = due_burst::measure(server, folder, args.triggers).await?;
    println!(
        "\n{} triggers due at one instant (PostgreSQL, a server's scheduler, a fresh session for each)\n\
         \x20 until all runs are committed                {:8.2} s   (at most 3 s)\n\
         \x20 another tenant's, due each 100 ms meanwhile  {}, {} of them  (at most 1 s)\n\
         \x20 peak of memory before and after             {:8.1} MB, {:.1} MB",
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
        "\n{each} schedules due at each of {} seconds (PostgreSQL, a fresh session for each, more slots than runs)",
        lag::DUE_INSTANTS
    );
    let measured = lag::measure(server, folder, each).await?;
    println!(
        "  from the instant to the claim                 {}  (p99 at most 20 ms)\n\
         \x20 until the claim is committed                  {}",
        format_quantiles(&measured.claim_lags),
        format_quantiles(&measured.commit_lags),
    );
    Ok(())
}

async fn notify(server: &PostgresServer, folder: &Path, args: &Args) -> Result<()> {
    let count = usize::try_from(args.operations)?;
    let measured = notify::measure(server, folder, count).await?;
    println!(
        "\nFrom before a commit to a reader elsewhere that has read its row (PostgreSQL, {count} of each by turns)\n\
         \x20 a log's reader, woken by changes              {}\n\
         \x20 bare listen and notify, an equal row          {}\n\
         \x20                                               {}  (p99 at most 1.5 times)\n\
         \x20 a message, from before it is published        {}\n\
         \x20                                               {}  (p99 at most 1.5 times)\n\
         \x20 a message, since its publisher knows          {}",
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
        "\n{} ended runs and {} idle triggers beside none (PostgreSQL, {} of each by turns)\n\
         \x20 loaded in {:.0} s: {}",
        args.ended,
        args.idle_triggers,
        args.operations,
        measured.load_time.as_secs_f64(),
        measured.database_size,
    );
    let HistoryMeasurement { empty, full, .. } = &measured;
    for (what, none, long) in [
        ("a look that fires one", &empty.ticks, &full.ticks),
        ("a claim of one", &empty.claims, &full.claims),
    ] {
        println!(
            "  {what:<23} without  {}\n  {:<23} with     {}  {}  (at most 1.2 times)",
            format_quantiles(none),
            "",
            format_quantiles(long),
            format_ratios(long, none),
        );
    }
    Ok(())
}
