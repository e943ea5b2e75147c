//! What every command works with: the data folder, the store, the service.

use std::{path::PathBuf, sync::Arc};

use agent::GuardProgram;
use daemon::Settings;
use model::{Clock, Entropy, InstanceId};
use service::Service;
use store::{Location, Store};

use crate::{
    args::Global,
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
    pub(crate) async fn open(global: &Global, output: Output) -> Result<Self, Failure> {
        let path = match &global.data {
            Some(path) => path.clone(),
            None => environment::default_data_folder().ok_or_else(|| {
                let message = "find a data folder: HOME is not set";
                Failure::message(Exit::Environment, message).with_hint("name one with --data")
            })?,
        };
        let folder = DataFolder::open(&path)?;
        let location = match &global.database {
            Some(address) => address.parse().map_err(store::OpenError::from)?,
            None => Location::SqliteFile(folder.database()),
        };
        Self::open_at(folder, &location, global, output).await
    }

    /// Opens a data folder with a database that is named.
    pub(crate) async fn open_at(
        folder: DataFolder,
        location: &Location,
        global: &Global,
        output: Output,
    ) -> Result<Self, Failure> {
        let settings = global.knobs.settings()?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let entropy: Arc<dyn Entropy> = Arc::new(OsEntropy);
        let program = this_program()?;
        let guard = GuardProgram::this_program([engine::GUARD.into()]);
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

/// The path of this program, which the demonstration agent is started by.
fn this_program() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|source| Failure::environment("find the path of this program", source))
}
