//! What is measured on PostgreSQL: one private server, a database of its own for each.

use std::{path::Path, time::Duration};

use anyhow::Result;

use super::{
    args::{Args, Subject},
    drain::{self, Drained, Shape},
    floor,
    folder::new_folder,
    herd,
    history::{self, History, Measured},
    lag, notify,
    peers::{self, Peers},
    statistics::quantile,
    throughput::{self, MAX_IN_FLIGHT},
    world::World,
};
use crate::postgres::Server;

/// How the server is set, which is one for all that is measured beside each other.
const SETTINGS: &[&str] = &[
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
pub(crate) const SUBJECTS: [Subject; 7] = [
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
    let server = Server::start(home.path(), SETTINGS).await?;
    let settings = SETTINGS.join(", ");
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
fn spread(sorted: &[Duration]) -> String {
    let at = |part| ms(quantile(sorted, part));
    format!(
        "p50 {:8.2} ms, p99 {:8.2} ms, max {:8.2} ms",
        at(0.5),
        at(0.99),
        at(1.0)
    )
}

/// How many times as long as the other one the median takes, and what a hundredth is above.
fn times(one: &[Duration], other: &[Duration]) -> String {
    let at = |part| ms(quantile(one, part)) / ms(quantile(other, part));
    format!("p50 {:.2} times, p99 {:.2} times", at(0.5), at(0.99))
}

async fn throughput(server: &Server, folder: &Path, args: &Args) -> Result<()> {
    let own = new_folder(folder)?;
    let database = server.database("matins_throughput").await?;
    let world = World::open_postgres(&database, own.path()).await?;
    let runs = throughput::run_no_op_runs(&world, args.runs).await?;
    world.store.database().close().await;
    server.drop(&database).await?;
    println!(
        "\nRuns without an agent (PostgreSQL, {} of each, {} under way at once)\n\
         \x20 queue, claim, begin, finish; transcript, events, record   {:8.0}/s",
        args.runs,
        MAX_IN_FLIGHT,
        runs.per_second(),
    );
    Ok(())
}

async fn drain(server: &Server, folder: &Path, args: &Args) -> Result<()> {
    println!(
        "\n{} queued runs to their durable end (PostgreSQL, {} under way at once; by hand: batches of {} on \
         {} connections)",
        args.queued,
        args.in_flight,
        floor::BATCH,
        floor::CONNECTIONS,
    );
    for shape in Shape::ALL {
        for _ in 0..args.rounds {
            let matins =
                drain::drain_with_matins(server, folder, shape, args.queued, args.in_flight);
            let (matins, events) = matins.await?;
            let (by_hand, same) = drain::by_hand(server, folder, shape, args.queued).await?;
            anyhow::ensure!(events == same, "{events} events, by hand {same}");
            println!("{}", matins.line(&format!("Matins, {}", shape.name())));
            println!(
                "{}  {:.2} times",
                by_hand.line("the same rows by statements in batches"),
                ratio(&matins, &by_hand)
            );
        }
    }
    Ok(())
}

/// How many times as many runs a second the first one drains.
fn ratio(one: &Drained, other: &Drained) -> f64 {
    let rate = |drained: &Drained| drained.measured.per_second();
    rate(one) / rate(other)
}

async fn peers(server: &Server, args: &Args) -> Result<()> {
    let programs = Peers::build()?;
    println!(
        "\n{} no-op jobs of other queues to their end, a job alone (or as many as in 60 s)",
        args.queued
    );
    for peer in peers::PEERS {
        for settings in peers::SETTINGS {
            let database = server.database("peer").await?;
            let drained = programs
                .drain(peer, settings, &database, args.queued)
                .await?;
            server.drop(&database).await?;
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

async fn long_read(server: &Server, folder: &Path, args: &Args) -> Result<()> {
    println!(
        "\n{} queued runs beside a transaction of repeatable read that is open all the time (PostgreSQL, {} \
         under way at once)",
        args.queued, args.in_flight,
    );
    let (queued, in_flight) = (args.queued, args.in_flight);
    for _ in 0..args.rounds {
        let clean = drain::drain_with_matins(server, folder, Shape::Seats, queued, in_flight);
        let (clean, _) = clean.await?;
        let beside = drain::drain_during_long_read(server, folder, Shape::Seats, queued, in_flight);
        let (beside, _) = beside.await?;
        println!("{}", clean.line("clean"));
        println!(
            "{}  {:.2} times  (at least 0.9)",
            beside.line("beside it"),
            ratio(&beside, &clean)
        );
    }
    Ok(())
}

async fn due(server: &Server, folder: &Path, args: &Args) -> Result<()> {
    let measured = herd::measure(server, folder, args.triggers).await?;
    println!(
        "\n{} triggers due at one instant (PostgreSQL, a server's scheduler, a fresh session for each)\n\
         \x20 until all runs are committed                {:8.2} s   (at most 3 s)\n\
         \x20 another tenant's, due each 100 ms meanwhile  {}, {} of them  (at most 1 s)\n\
         \x20 peak of memory before and after             {:8.1} MB, {:.1} MB",
        args.triggers,
        measured.took.as_secs_f64(),
        spread(&measured.others),
        measured.others.len(),
        measured.peak.0,
        measured.peak.1,
    );
    Ok(())
}

async fn lag(server: &Server, folder: &Path, args: &Args) -> Result<()> {
    let each = args.due_each_second;
    println!(
        "\n{each} schedules due at each of {} seconds (PostgreSQL, a fresh session for each, more slots than runs)",
        lag::INSTANTS
    );
    let measured = lag::measure(server, folder, each).await?;
    println!(
        "  from the instant to the claim                 {}  (p99 at most 20 ms)\n\
         \x20 until the claim is committed                  {}",
        spread(&measured.claimed),
        spread(&measured.committed),
    );
    Ok(())
}

async fn notify(server: &Server, folder: &Path, args: &Args) -> Result<()> {
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
        spread(&measured.matins),
        spread(&measured.bare),
        times(&measured.matins, &measured.bare),
        spread(&measured.published),
        times(&measured.published, &measured.bare),
        spread(&measured.committed),
    );
    Ok(())
}

async fn history(server: &Server, folder: &Path, args: &Args) -> Result<()> {
    let history = History {
        ended: args.ended,
        idle_triggers: args.idle_triggers,
    };
    let measured = history::measure(server, folder, history, args.operations).await?;
    println!(
        "\n{} ended runs and {} idle triggers beside none (PostgreSQL, {} of each by turns)\n\
         \x20 loaded in {:.0} s: {}",
        args.ended,
        args.idle_triggers,
        args.operations,
        measured.loading.as_secs_f64(),
        measured.size,
    );
    let Measured { empty, full, .. } = &measured;
    for (what, none, long) in [
        ("a look that fires one", &empty.ticks, &full.ticks),
        ("a claim of one", &empty.claims, &full.claims),
    ] {
        println!(
            "  {what:<23} without  {}\n  {:<23} with     {}  {}  (at most 1.2 times)",
            spread(none),
            "",
            spread(long),
            times(long, none),
        );
    }
    Ok(())
}
