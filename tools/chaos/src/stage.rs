//! Building what is put to the test: the database, the servers, and what lives on them.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, Result, bail, ensure};
use tokio::time::{Instant, sleep};

use super::{
    args::Args,
    blocking::blocking,
    clock,
    dice::Dice,
    faults::Field,
    http::Api,
    postgres::Postgres,
    programs::Programs,
    proxy::Proxy,
    replica::{Plan, Replica},
    world::World,
};

/// How long the first start may take, which makes the database.
const START: Duration = Duration::from_mins(1);
const LOOK: Duration = Duration::from_millis(50);
/// What a server calls how far its own clock is ahead of the database's, in seconds, and how exactly it is off.
const CLOCK_OFFSET: &str = "matins_clock_offset_seconds ";
const OFFSET_EDGE: f64 = 30.0;

/// All that is there.
pub(crate) struct Stage {
    pub(crate) field: Arc<Field>,
    pub(crate) world: World,
    pub(crate) canary: String,
    programs: Arc<Programs>,
}

impl Stage {
    pub(crate) async fn build(args: &Args, root: &Path, dice: &Dice) -> Result<Self> {
        let (programs, earlier) = (args.programs.clone(), args.earlier.clone());
        let find = move || Programs::find(programs.as_deref(), earlier.as_deref());
        let programs = blocking(find).await?;
        let programs = Arc::new(programs);
        // The user of the database must get to its folder.
        fs::set_permissions(root, fs::Permissions::from_mode(0o711))?;
        let mut secrets = dice.of("secrets");
        let password = secrets.word();
        let canary = format!("canary-{}", secrets.word());
        let folder = root.to_owned();
        let postgres = blocking(move || Postgres::make(&folder, &password)).await?;
        let postgres = Arc::new(postgres);
        let proxy = Proxy::start(postgres.port).await?;

        let mut plans = Vec::new();
        for number in 0..args.replicas {
            // The second one goes through the proxy; a single one does as well.
            let by_proxy = number == 1.min(args.replicas - 1);
            let port = if by_proxy { proxy.port } else { postgres.port };
            plans.push(Plan::new(root, number, postgres.url(port), &canary)?);
        }
        if let Some(last) = plans.last_mut().filter(|_| args.clock_off != 0) {
            last.clock = clock::off_by(args.clock_off);
            ensure!(
                last.clock.is_some(),
                "libfaketime is not here, so that no clock can be off: install it (Debian: apt install \
                 faketime), or say --clock-off 0"
            );
        }
        let mut replicas = Vec::new();
        let mut addresses = Vec::new();
        let mut token = String::new();
        for plan in plans {
            addresses.push(format!("http://{}", plan.address));
            let folder = plan.folder.clone();
            let log = plan.log.clone();
            replicas.push(Replica::keep(plan, &programs));
            // The first one makes the database and the first token; the others find both.
            if token.is_empty() {
                token = first_token(&folder)
                    .await
                    .with_context(|| format!("start a server; see {}", log.display()))?;
            }
        }
        let api = Api::new(addresses.clone(), &token, dice.of("ways"))?;
        let mut last = None;
        for address in addresses {
            let one = Api::new(vec![address], &token, dice.of("way"))?;
            one.get("/whoami", START).await?;
            last = Some(one);
        }
        if let Some(last) = last {
            look_at_clock(&last, args.clock_off).await?;
        }
        let world = World::make(root, &programs, &api, &token, &args.later_policies).await?;
        let field = Field::new(root.to_owned(), postgres, replicas, proxy);
        Ok(Self {
            field: Arc::new(field),
            world,
            canary,
            programs,
        })
    }

    /// Starts every server again with this version: an earlier one would leave alone for ever what it does not honour.
    pub(crate) async fn end_upgrade(&self) -> Result<()> {
        self.programs.use_this_version_alone();
        for replica in &self.field.replicas {
            ensure!(
                replica.stop().await,
                "replica {} did not stop",
                replica.plan.number
            );
            replica.want(true);
        }
        Ok(())
    }
}

/// Makes sure that a server's own clock is off by so many minutes beside the database's, as it says itself.
async fn look_at_clock(server: &Api, minutes: i32) -> Result<()> {
    let figures = server.text("/metrics").await?;
    let offset = figures
        .lines()
        .find_map(|line| line.strip_prefix(CLOCK_OFFSET)?.trim().parse::<f64>().ok())
        .with_context(|| format!("the last server does not tell its {CLOCK_OFFSET}"))?;
    ensure!(
        (offset - f64::from(minutes) * 60.0).abs() < OFFSET_EDGE,
        "the clock of the last server is off by {offset} s, and not by {minutes} minutes"
    );
    println!("The clock of the last server is off by {offset:.3} s.");
    Ok(())
}

async fn first_token(folder: &Path) -> Result<String> {
    let until = Instant::now() + START;
    loop {
        match fs::read_to_string(folder.join("token")) {
            Ok(token) if !token.trim().is_empty() => return Ok(token.trim().to_owned()),
            _ if Instant::now() > until => bail!("no token was made within {START:?}"),
            _ => sleep(LOOK).await,
        }
    }
}
