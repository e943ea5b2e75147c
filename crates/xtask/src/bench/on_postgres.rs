//! What is measured on PostgreSQL: one private server, a database of its own for each.

use std::path::Path;

use anyhow::Result;

use super::{
    Args, Subject,
    drain::{self, Drained, Shape},
    floor, new_folder,
    peers::{self, Peers},
    throughput::{self, Measured},
    world::World,
};
use crate::postgres::Server;

/// How the server is set, which is one for all that is measured beside each other.
const SETTINGS: &[&str] = &[
    "shared_buffers=1GB",
    "max_wal_size=8GB",
    "checkpoint_timeout=15min",
    "max_connections=200",
    // As they are unless somebody changes them; named because figures depend on them.
    "fsync=on",
    "synchronous_commit=on",
    "full_page_writes=on",
    "autovacuum=on",
];

/// What needs the server.
pub(crate) const SUBJECTS: [Subject; 2] = [Subject::Throughput, Subject::Drain];

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
    server.stop();
    Ok(())
}

async fn throughput(server: &Server, folder: &Path, args: &Args) -> Result<()> {
    let own = new_folder(folder)?;
    let database = server.database("matins_throughput").await?;
    let world = World::open_on(&database, own.path()).await?;
    let runs = throughput::no_op_runs(&world, args.runs).await?;
    world.store.database().close().await;
    server.drop(&database).await?;
    println!(
        "\nRuns without an agent (PostgreSQL, {} of each, {} under way at once)\n\
         \x20 queue, claim, begin, finish; transcript, events, record   {:8.0}/s",
        args.runs,
        throughput::IN_FLIGHT,
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
            let matins = drain::of_matins(server, folder, shape, args.queued, args.in_flight);
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
    let rate = |drained: &Drained| Measured::per_second(&drained.measured);
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
