//! `cargo xtask chaos`: real servers on a real PostgreSQL, real processes of agents, people and readers, while
//! a seed decides what goes wrong; and then a checker that believes nobody.
//!
//! Everything lies in one temporary folder: the data of PostgreSQL and of each replica, their logs, the agents'
//! ledgers, what readers saw. It is kept if anything was found. Chance is seeded, the machine is not: a seed
//! deals the same faults and the same words again, and how they fall together may differ.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "part of a program of its own: it reads the clock and the environment, and prints"
)]

mod args;
mod blocking;
mod check;
mod clock;
mod connections;
mod dice;
mod faults;
mod history;
mod http;
mod people;
mod postgres;
mod processes;
mod programs;
mod proxy;
mod quiet;
mod recorder;
mod replica;
mod report;
mod stage;
mod watch;
mod world;

use std::{path::Path, time::Duration};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use jiff::Timestamp;
use tokio::{
    signal::unix::{SignalKind, signal},
    task::JoinSet,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

pub use args::Args;

use self::{
    dice::Dice,
    history::{History, Measured},
    people::Asking,
    recorder::Recorders,
    replica::Replica,
    stage::Stage,
    watch::Probes,
};

/// Plays one seed and checks what is left. Returns an error if a check finds anything.
pub async fn run(args: &Args) -> Result<()> {
    ensure!(args.replicas > 0, "at least one replica is needed");
    let minutes = Duration::try_from_secs_f64(args.minutes * 60.0)
        .context("--minutes: a number of minutes is expected")?;
    let seed = if let Some(seed) = args.seed {
        seed
    } else {
        let mut random = [0; 4];
        getrandom::fill(&mut random).context("read randomness")?;
        u32::from_ne_bytes(random).into()
    };
    println!("Chaos of {} minutes with seed {seed}.", args.minutes);
    let folder = tempfile::Builder::new().prefix("matins-chaos-").tempdir()?;
    let root = folder.path().to_owned();
    let mut asked_to_end = signal(SignalKind::terminate())?;
    let went = tokio::select! {
        went = play(args, &root, minutes, seed) => went,
        _ = tokio::signal::ctrl_c() => Err(anyhow!("stopped by Ctrl-C")),
        _ = asked_to_end.recv() => Err(anyhow!("asked to end")),
    };
    // All processes are gone by now, with what held them; agents with their guards.
    let left = quiet::survivors(&root).await;
    for process in &left {
        processes::signal(process.pid, rustix::process::Signal::KILL);
    }
    if args.keep || went.is_err() {
        let kept = folder.keep();
        println!("Everything is kept in {}", kept.display());
    }
    went.with_context(|| format!("seed {seed} went wrong"))
}

/// Those who look on from the first fault to the last end.
struct Witnesses {
    asking: Asking,
    probes: Probes,
    recorders: Recorders,
    measuring: JoinSet<Measured>,
    /// Ends the measuring.
    end: CancellationToken,
}

/// Plays one seed.
async fn play(args: &Args, root: &Path, minutes: Duration, seed: u64) -> Result<()> {
    let dice = Dice::new(seed);
    let stage = Stage::build(args, root, &dice).await?;
    let (field, world) = (&stage.field, &stage.world);
    let readings = root.join("readings");
    std::fs::create_dir(&readings)?;
    let mut witnesses = Witnesses {
        asking: Asking::default(),
        probes: Probes::default(),
        recorders: Recorders::begin(world, &readings, &dice)?,
        measuring: JoinSet::new(),
        end: CancellationToken::new(),
    };
    let measuring = watch::measure(field.clone(), witnesses.end.clone());
    witnesses.measuring.spawn(measuring);
    let (faults_end, people_end) = (CancellationToken::new(), CancellationToken::new());
    let mut people = people::begin(world, &dice, &witnesses.asking, &people_end);
    people.spawn(watch::strangers(
        world,
        dice.of("strangers"),
        witnesses.probes.clone(),
        people_end.clone(),
    ));
    let mut hands = faults::begin(field, &dice, &faults_end);
    println!("All is there; things go wrong from now on.");
    let began = Instant::now();
    sleep(minutes).await;

    faults_end.cancel();
    while hands.join_next().await.is_some() {}
    people_end.cancel();
    while people.join_next().await.is_some() {}
    let took = began.elapsed();
    println!("Nothing goes wrong any more, after {took:.0?}.");
    let until = Timestamp::now().as_microsecond();
    if !args.later_policies.is_empty() {
        stage.end_upgrade().await?;
    }
    quiet::mend(field, world, until).await?;
    people::ask_in_peace(world, &dice, &witnesses.asking).await;
    let mut complaints = quiet::quiesce(field, world).await?;
    let mut history = wind_down(&stage, root, witnesses, &mut complaints).await?;
    history.until = until;
    println!("All is over; now it is checked.");
    let broken = report::print(&history, field, &complaints);
    if broken > 0 {
        bail!("{broken} of what must hold does not");
    }
    Ok(())
}

/// Stops the servers, and gathers what everybody has to tell.
async fn wind_down(
    stage: &Stage,
    root: &Path,
    mut witnesses: Witnesses,
    complaints: &mut Vec<String>,
) -> Result<History> {
    let (field, world) = (&stage.field, &stage.world);
    let recordings = witnesses.recorders.end(quiet::ends(field).await?).await?;
    witnesses.end.cancel();
    let measured = witnesses.measuring.join_next().await;
    let mut measured = measured.context("nothing was measured")??;
    let resident = |replica: &Replica| processes::resident(replica.pid()?);
    measured.resident = field.replicas.iter().filter_map(resident).collect();
    let mut survivors = quiet::survivors(root).await;
    complaints.extend(field.complaints());
    for replica in &field.replicas {
        if !replica.stop().await {
            complaints.push(format!("replica {} did not stop", replica.plan.number));
        }
    }
    if survivors.is_empty() {
        survivors = quiet::survivors(root).await;
    }
    let followed = recordings.into_iter();
    let followed = followed.filter(|recording| !recording.session.is_empty());
    let mut history = History {
        recordings: followed.collect(),
        asked: witnesses.asking.all(),
        probes: witnesses.probes.all(),
        measured,
        survivors,
        servers: field.replicas.len(),
        ..History::read(&field.postgres, &world.homes)?
    };
    let mut secrets = vec![
        ("the canary", stage.canary.as_str()),
        ("the database's password", field.postgres.password.as_str()),
    ];
    secrets.extend(world.tokens.iter().map(|token| ("a token", token.as_str())));
    quiet::search_secrets(&mut history, root, &field.postgres, &secrets)?;
    for replica in &field.replicas {
        quiet::read_log(&mut history, &replica.plan.log)?;
    }
    Ok(history)
}
