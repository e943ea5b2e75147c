//! The environment under test: builds the database, the servers and their data, and ends the rolling upgrade.

use std::{
    fs, net::SocketAddr, os::unix::fs::PermissionsExt as _, path::Path, sync::Arc, time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use tokio::time::{Instant, sleep};

use super::{
    args::{Args, DatabaseKind, Defect},
    automation_plans::FIRED_BY_FILES,
    blocking::blocking,
    database::Database,
    faketime,
    faults::FaultTargets,
    folder_instance::{FolderInstance, RuntimeConfig},
    foreign_files::FileTarget,
    http::Api,
    postgres::Postgres,
    programs::Programs,
    proxy::Proxy,
    replica::{MAX_WORKERS_ALONE, Replica, ReplicaConfig},
    rng::Rng,
    sqlite::SqliteFile,
    trigger_folder::TriggerFolder,
    workload::Workload,
};

/// The maximum time of a server's first start. The first server also creates the schema.
const START_TIMEOUT: Duration = Duration::from_mins(1);
/// The interval at which the first token is polled for.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The metric with the seconds by which a server's own clock is ahead of the database's clock.
const CLOCK_OFFSET_METRIC: &str = "matins_clock_offset_seconds ";
/// The maximum difference between the requested and the measured clock offset, in seconds.
const CLOCK_OFFSET_TOLERANCE_SECONDS: f64 = 30.0;

/// The running environment.
pub(crate) struct Environment {
    pub(crate) targets: Arc<FaultTargets>,
    pub(crate) workload: Workload,
    /// The secret that the agents get in [`CANARY_VARIABLE`](super::replica::CANARY_VARIABLE).
    pub(crate) canary: String,
    programs: Arc<Programs>,
}

impl Environment {
    /// Starts the database and all servers, and creates the tenants with their data.
    pub(crate) async fn build(args: &Args, root: &Path, dice: &Rng) -> Result<Self> {
        // 1. Find the programs.
        let (programs, earlier) = (args.programs.clone(), args.earlier.clone());
        let find = move || Programs::find(programs.as_deref(), earlier.as_deref());
        let programs = blocking(find).await?;
        let programs = Arc::new(programs);
        ensure!(
            args.clock_off == 0 || faketime::find_with_offset(args.clock_off).is_some(),
            "cannot offset the clock: libfaketime is not installed; install it (Debian: apt install \
             faketime) or pass `--clock-off 0`"
        );
        let mut secrets = dice.derive("secrets");
        let password = secrets.hex_string();
        let canary = format!("canary-{}", secrets.hex_string());
        // 2. Plan the servers, and start the database if it is a server of its own.
        let (database, plans) = match args.database {
            DatabaseKind::Postgres => start_postgres(args, root, password, &canary).await?,
            DatabaseKind::Sqlite => plan_on_sqlite(root, &canary)?,
        };
        // 3. Start the servers.
        let mut replicas = Vec::new();
        let mut addresses = Vec::new();
        let mut token = String::new();
        for plan in plans {
            addresses.push(format!("http://{}", plan.address));
            let folder = plan.folder.clone();
            let log = plan.log.clone();
            replicas.push(Replica::start(plan, &programs));
            // Wait for the first server before the others start: it creates the schema and the first token.
            if token.is_empty() {
                token = wait_for_first_token(&folder).await.with_context(|| {
                    format!("cannot start a server; its log is `{}`", log.display())
                })?;
            }
        }
        // 4. Wait until each server answers, and check that the wrong clock is wrong.
        let api = Api::new(addresses.clone(), &token, dice.derive("ways"))?;
        let mut last = None;
        for address in addresses {
            let server = Api::new(vec![address], &token, dice.derive("way"))?;
            server.get("/whoami", START_TIMEOUT).await?;
            last = Some(server);
        }
        if let Some(last) = last.filter(|_| args.database == DatabaseKind::Postgres) {
            check_clock_offset(&last, args.clock_off).await?;
        }
        // 5. Create the data.
        let mut folders = Vec::new();
        // A server of an earlier version knows no instances in folders.
        if args.earlier.is_none() {
            for number in 0..args.runtimes {
                folders.push(Arc::new(TriggerFolder::create(root, number.into()).await?));
            }
        }
        let world = Workload::create(args, root, &programs, &api, &token, &folders);
        let world = world.await?;
        // 6. Start the runtimes.
        let servers: Vec<_> = replicas
            .iter()
            .map(|replica| replica.config.address)
            .collect();
        let instances =
            start_runtimes(args, root, &programs, &canary, &servers, (&folders, &world)).await?;
        let field = FaultTargets::new(root.to_owned(), database, replicas, instances);
        Ok(Self {
            targets: Arc::new(field),
            workload: world,
            canary,
            programs,
        })
    }

    /// Returns the folders with the automations that files of other programs may fire.
    pub(crate) fn file_targets(&self) -> Vec<FileTarget> {
        let folders = self.targets.folders.iter();
        let target = |instance: &FolderInstance| FileTarget {
            folder: Arc::clone(&instance.folder),
            automation: FIRED_BY_FILES,
        };
        folders.map(target).collect()
    }

    /// Restarts every server with this version, because servers of the earlier version neither fire nor run an
    /// automation whose policies they do not know (ADR 0015). Its triggers would stay behind forever.
    ///
    /// # Errors
    ///
    /// Returns an error if a server does not stop in time.
    pub(crate) async fn end_upgrade(&self) -> Result<()> {
        self.programs.end_upgrade();
        for replica in &self.targets.replicas {
            ensure!(
                replica.process.stop().await,
                "replica {} did not stop in time",
                replica.config.number
            );
            replica.process.set_wanted(true);
        }
        Ok(())
    }
}

/// Starts PostgreSQL, and plans the servers: one connects through a proxy, and the last one has a wrong clock.
async fn start_postgres(
    args: &Args,
    root: &Path,
    password: String,
    canary: &str,
) -> Result<(Database, Vec<ReplicaConfig>)> {
    // PostgreSQL may run as another user (see `Postgres`), which must be able to reach its folder below `root`.
    fs::set_permissions(root, fs::Permissions::from_mode(0o711))?;
    let folder = root.to_owned();
    let server = blocking(move || Postgres::create(&folder, &password)).await?;
    let proxy = Proxy::start(vec![local_address(server.port)]).await?;
    let count = args.replica_count()?;
    let mut plans = Vec::new();
    for number in 0..count {
        // The second server connects through the proxy. If there is only one server, that one does.
        let by_proxy = number == 1.min(count - 1);
        let port = if by_proxy { proxy.port } else { server.port };
        let mut plan = ReplicaConfig::new(root, number, canary)?;
        plan.database = Some(server.url(port));
        plans.push(plan);
    }
    if let Some(last) = plans.last_mut().filter(|_| args.clock_off != 0) {
        last.faketime = faketime::find_with_offset(args.clock_off);
    }
    let server = Arc::new(server);
    Ok((Database::Postgres { server, proxy }, plans))
}

/// Plans the only server of a SQLite file. Its clock is right, because the server has no other clock than the machine's.
fn plan_on_sqlite(root: &Path, canary: &str) -> Result<(Database, Vec<ReplicaConfig>)> {
    let mut plan = ReplicaConfig::new(root, 0, canary)?;
    plan.max_workers = MAX_WORKERS_ALONE;
    let file = SqliteFile::in_data_folder(&plan.folder);
    Ok((Database::Sqlite(file), vec![plan]))
}

/// Returns an address of this machine.
fn local_address(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// Checks that a server's clock differs from the database's clock by `minutes`, according to the server's own metric.
/// Otherwise, a `libfaketime` without effect would let the test pass with correct clocks.
async fn check_clock_offset(server: &Api, minutes: i32) -> Result<()> {
    let figures = server.get_text("/metrics").await?;
    let offset = figures
        .lines()
        .find_map(|line| {
            line.strip_prefix(CLOCK_OFFSET_METRIC)?
                .trim()
                .parse::<f64>()
                .ok()
        })
        .with_context(|| format!("the last server has no metric `{CLOCK_OFFSET_METRIC}`"))?;
    ensure!(
        (offset - f64::from(minutes) * 60.0).abs() < CLOCK_OFFSET_TOLERANCE_SECONDS,
        "the clock of the last server is off by {offset} s instead of {minutes} minutes"
    );
    println!("The clock of the last server is off by {offset:.3} s.");
    Ok(())
}

/// Starts a runtime for each folder, the last one with a wrong clock. `placed` has the folders, and the tenants to which
/// they belong.
async fn start_runtimes(
    args: &Args,
    root: &Path,
    programs: &Arc<Programs>,
    canary: &str,
    servers: &[SocketAddr],
    placed: (&[Arc<TriggerFolder>], &Workload),
) -> Result<Vec<FolderInstance>> {
    let (folders, world) = placed;
    let mut instances = Vec::new();
    for (number, (folder, tenant)) in folders.iter().zip(&world.tenants).enumerate() {
        let placed = tenant.placed.as_ref();
        let token = &placed.context("a tenant has no instance")?.token;
        let proxy = Proxy::start(servers.to_vec()).await?;
        if args.defect == Some(Defect::Folders) {
            proxy.replace_keys();
        }
        let is_wrong = args.clock_off != 0 && number + 1 == folders.len();
        let config = RuntimeConfig {
            number,
            folder: folder.path().to_owned(),
            home: root.join(format!("runtime-{number}")),
            server: format!("http://127.0.0.1:{}", proxy.port),
            canary: canary.to_owned(),
            faketime: faketime::find_with_offset(-args.clock_off).filter(|_| is_wrong),
        };
        let instance = FolderInstance::start(config, token, Arc::clone(folder), proxy, programs)?;
        wait_for_runtime(&instance).await?;
        instances.push(instance);
    }
    Ok(instances)
}

/// Waits until a runtime serves its folder, and checks that its clock is as wrong as it should be.
async fn wait_for_runtime(instance: &FolderInstance) -> Result<()> {
    let until = Instant::now() + START_TIMEOUT;
    let log = instance.config.log();
    while !fs::read_to_string(&log).is_ok_and(|text| text.contains("watches")) {
        ensure!(
            Instant::now() < until,
            "cannot start a runtime; its log is `{}`",
            log.display()
        );
        sleep(POLL_INTERVAL).await;
    }
    let expected = instance.config.faketime.is_some();
    ensure!(
        instance.has_wrong_clock() == expected,
        "`libfaketime` has no effect on the runtime"
    );
    Ok(())
}

/// Waits until the first server has written its first token, and returns it.
async fn wait_for_first_token(folder: &Path) -> Result<String> {
    let until = Instant::now() + START_TIMEOUT;
    loop {
        match fs::read_to_string(folder.join("token")) {
            Ok(token) if !token.trim().is_empty() => return Ok(token.trim().to_owned()),
            _ if Instant::now() > until => {
                bail!("the first server wrote no token within {START_TIMEOUT:?}")
            }
            _ => sleep(POLL_INTERVAL).await,
        }
    }
}
