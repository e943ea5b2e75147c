//! What every command works with: the data folder, the store, the service.

use std::{path::PathBuf, sync::Arc};

use agent::GuardProgram;
use config::Config;
use daemon::Settings;
use model::{Clock, Entropy, InstanceId};
use service::Service;
use store::{Location, Store};

use crate::{
    configuration,
    data_folder::DataFolder,
    engine, environment,
    failure::{Exit, Failure},
    output::{LocalTime, Output},
    poke::{self, Poked},
    probe::AgentProbe,
    system::{OsEntropy, SystemClock, hostname},
};

/// The one tenant of a single-user install.
const TENANT: &str = "default";
/// How many digits of an instance's id stand in its name.
const NAME_DIGITS: usize = 8;

/// What every command works with.
pub(crate) struct App {
    pub(crate) service: Service,
    pub(crate) store: Store,
    pub(crate) folder: DataFolder,
    pub(crate) instance: InstanceId,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) guard: GuardProgram,
    pub(crate) settings: Settings,
    pub(crate) output: Output,
    pub(crate) time: LocalTime,
}

impl App {
    /// Opens the data folder and the database, and makes what is not there.
    pub(crate) async fn open(config: &Config, output: Output) -> Result<Self, Failure> {
        let path = configuration::data_folder(config).ok_or_else(|| {
            let message = "find a data folder: HOME is not set";
            Failure::message(Exit::Environment, message).with_hint("name one with --data")
        })?;
        let folder = DataFolder::open(&path)?;
        let named = configuration::location(config)
            .map_err(|problem| Failure::new(Exit::Usage, problem))?;
        let location = named.unwrap_or_else(|| Location::SqliteFile(folder.database()));
        Self::open_at(folder, &location, config, output).await
    }

    /// Opens a data folder with a database that is named.
    pub(crate) async fn open_at(
        folder: DataFolder,
        location: &Location,
        config: &Config,
        output: Output,
    ) -> Result<Self, Failure> {
        let settings = configuration::settings(config);
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let entropy: Arc<dyn Entropy> = Arc::new(OsEntropy);
        let program = this_program()?;
        let guard = guard_program();
        let instance = folder.instance(&*clock, &*entropy)?;
        let database = store::open(location).await?;
        let store = Store::new(database, Arc::clone(&entropy), folder.sessions());
        let now = clock.now();
        let tenant = store.ensure_tenant(TENANT, now).await?;
        let digits = instance.uuid().simple().to_string();
        let name = format!("{}-{}", hostname(), &digits[digits.len() - NAME_DIGITS..]);
        store.register_host(tenant, instance, &name, now).await?;
        let probe = AgentProbe {
            guard: guard.clone(),
            environment: environment::for_agents(),
            cwd: folder.path().to_owned(),
            entropy: Arc::clone(&entropy),
        };
        let service = Service::new(
            store.clone(),
            tenant,
            Arc::clone(&clock),
            Arc::clone(&entropy),
            Arc::new(probe),
        );
        let demo_agent = [
            program.into_os_string(),
            "demo-agent".into(),
            "--home".into(),
        ]
        .into_iter()
        .chain([folder.demo_agent().into_os_string()])
        .map(|part| part.to_string_lossy().into_owned())
        .collect::<Vec<_>>();
        service.add_known_harnesses(&demo_agent).await?;
        Ok(Self {
            service,
            store,
            folder,
            instance,
            clock,
            entropy,
            guard,
            settings,
            output,
            time: LocalTime::system(),
        })
    }

    /// Tells whoever serves the folder that something changed.
    pub(crate) async fn poke(&self) -> Poked {
        poke::poke(self.folder.path()).await
    }
}

/// What guards are started by: this program, whatever lies at its path by then.
pub(crate) fn guard_program() -> GuardProgram {
    GuardProgram::this_program([engine::GUARD.into()])
}

/// The path of this program, which the demonstration agent is started by.
fn this_program() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|source| Failure::environment("find the path of this program", source))
}
