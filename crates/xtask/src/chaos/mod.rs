//! `cargo xtask chaos`: real servers on a real PostgreSQL, real processes of agents, people and readers, while
//! a seed decides what goes wrong; and then a checker that believes nobody.
//!
//! Everything lies in one temporary folder: the data of PostgreSQL and of each replica, their logs, the agents'
//! ledgers, what readers saw. It is kept if anything was found. Chance is seeded, the machine is not: a seed
//! deals the same faults and the same words again, and how they fall together may differ.

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

use std::{path::PathBuf, time::Duration};

use anyhow::{Context as _, Result, bail, ensure};
use jiff::Timestamp;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use self::{
    dice::Dice, history::History, people::Asking, recorder::Recorders, stage::Stage, watch::Probes,
};

/// Let everything go wrong, and check that nothing is lost and nothing happens twice
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// For how long things go wrong; 0.5 is half a minute
    #[arg(long, default_value_t = 2.0)]
    minutes: f64,
    /// What decides about chance; a random one unless it is named
    #[arg(long)]
    seed: Option<u64>,
    /// Servers that share the database
    #[arg(long, default_value_t = 3)]
    replicas: usize,
    /// By how many minutes the clock of the last server is off; 0 for a clock that is right
    #[arg(long, default_value_t = 10, allow_hyphen_values = true)]
    clock_off: i32,
    /// A folder with the programs matins and matins-testkit; without it they are built
    #[arg(long)]
    programs: Option<PathBuf>,
    /// Keep the folder, whatever is found
    #[arg(long)]
    keep: bool,
}

/// Runs it; an error if anything was found.
pub(crate) async fn run(args: &Args) -> Result<()> {
    ensure!(args.replicas > 0, "at least one replica is needed");
    let minutes = Duration::try_from_secs_f64(args.minutes * 60.0)
        .context("--minutes: a number of minutes is expected")?;
    let seed = match args.seed {
        Some(seed) => seed,
        None => {
            let mut random = [0; 4];
            getrandom::fill(&mut random).context("read randomness")?;
            u32::from_ne_bytes(random).into()
        }
    };
    println!("Chaos of {} minutes with seed {seed}.", args.minutes);
    let folder = tempfile::Builder::new().prefix("matins-chaos-").tempdir()?;
    let root = folder.path().to_owned();
    let went = tokio::select! {
        went = play(args, &root, minutes, seed) => went,
        _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("stopped by Ctrl-C")),
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

/// Plays one seed.
async fn play(args: &Args, root: &std::path::Path, minutes: Duration, seed: u64) -> Result<()> {
    let dice = Dice::new(seed);
    let stage = Stage::build(args, root, &dice).await?;
    let (field, world) = (&stage.field, &stage.world);
    let (asking, probes) = (Asking::default(), Probes::default());
    let readings = root.join("readings");
    std::fs::create_dir(&readings)?;
    let recorders = Recorders::begin(world, &readings, &dice)?;
    let (faults_end, people_end, watch_end) = (
        CancellationToken::new(),
        CancellationToken::new(),
        CancellationToken::new(),
    );
    let mut people = people::begin(world, &dice, &asking, &people_end);
    let measuring = tokio::spawn(watch::measure(field.clone(), watch_end.clone()));
    if let [owner, stranger, ..] = world.tenants.as_slice() {
        let (owner, stranger) = (owner.api.clone(), stranger.api.clone());
        let (dice, probes) = (dice.of("strangers"), probes.clone());
        let strangers = watch::strangers(
            owner,
            stranger,
            world.ids(),
            dice,
            probes,
            people_end.clone(),
        );
        people.spawn(strangers);
    }
    let mut hands = faults::begin(field, &dice, &faults_end);
    println!("All is there; things go wrong from now on.");
    let began = Instant::now();
    sleep(minutes).await;

    faults_end.cancel();
    while hands.join_next().await.is_some() {}
    people_end.cancel();
    while people.join_next().await.is_some() {}
    println!(
        "Nothing goes wrong any more, after {:.0?}.",
        began.elapsed()
    );
    let until = Timestamp::now().as_microsecond();
    quiet::mend(field, world, until).await?;
    let open = quiet::quiesce(field, world).await?;
    let recordings = recorders.end(quiet::ends(field).await?).await?;
    watch_end.cancel();
    let mut measured = measuring.await?;
    let resident = |replica: &replica::Replica| processes::resident(replica.pid()?);
    measured.resident = field.replicas.iter().filter_map(resident).collect();
    let agents_seen = measured.processes;
    let mut survivors = quiet::survivors(root).await;
    let mut complaints = field.complaints();
    for replica in &field.replicas {
        if !replica.stop().await {
            complaints.push(format!("replica {} did not stop", replica.plan.number));
        }
    }
    if survivors.is_empty() {
        survivors = quiet::survivors(root).await;
    }
    println!("All is over; now it is checked.");

    let mut history = History {
        recordings: recordings
            .into_iter()
            .filter(|recording| !recording.session.is_empty())
            .collect(),
        asked: asking.all(),
        probes: probes.all(),
        measured,
        survivors,
        agents_seen,
        until,
        servers: field.replicas.len(),
        ..History::read(&field.postgres, &world.homes)?
    };
    let mut secrets = vec![
        ("the canary", stage.canary.as_str()),
        ("the database's password", field.postgres.password.as_str()),
    ];
    secrets.extend(world.tokens.iter().map(|token| ("a token", token.as_str())));
    quiet::search_secrets(&mut history, root, &field.postgres, &secrets)?;
    complaints.extend(
        open.iter()
            .map(|run| format!("{run} never came to its end")),
    );
    let broken = report::print(&history, field, &complaints);
    if broken > 0 {
        bail!("{broken} of what must hold does not");
    }
    Ok(())
}

/// Does what takes its time without holding up everybody else.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work).await?
}
