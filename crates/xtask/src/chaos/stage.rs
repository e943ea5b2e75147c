//! Building what is put to the test: the database, the servers, and what lives on them.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, Result, bail};
use tokio::time::{Instant, sleep};

use super::{
    Args, blocking, clock,
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

/// All that is there.
pub(crate) struct Stage {
    pub(crate) field: Arc<Field>,
    pub(crate) world: World,
    pub(crate) canary: String,
}

impl Stage {
    pub(crate) async fn build(args: &Args, root: &Path, dice: &Dice) -> Result<Self> {
        let programs = args.programs.clone();
        let programs = blocking(move || Programs::find(programs.as_deref())).await?;
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
            match &last.clock {
                Some(_) => println!(
                    "The clock of replica {} is off by {} minutes.",
                    last.number, args.clock_off
                ),
                None => println!(
                    "WARNING: libfaketime is not here, so every clock is right and nothing is seen of clocks \
                     that are off. Install it (Debian: apt install faketime), or say --clock-off 0."
                ),
            }
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
        for address in addresses {
            let one = Api::new(vec![address], &token, dice.of("way"))?;
            one.get("/whoami", START).await?;
        }
        let world = World::make(root, &programs, &api, &token).await?;
        let field = Field::new(root.to_owned(), postgres, replicas, proxy);
        Ok(Self {
            field: Arc::new(field),
            world,
            canary,
        })
    }
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
