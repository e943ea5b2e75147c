//! This machine's part: the data folder, the database, and the routes of the API over both.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use agent::GuardProgram;
use api::{Api, ApiBuilder, Peer};
use axum::{Extension, Router};
use client::Client;
use config::Config;
use daemon::{FleetClock, Settings};
use model::{Clock, Entropy, InstanceId, TenantId};
use service::{Probe, Service};
use store::{Location, Store};

use crate::{
    data_folder::DataFolder,
    error::Error,
    probe::AgentProbe,
    settings::{location, loop_settings},
    system::{OsEntropy, SystemClock, SystemUptime, hostname},
};

/// The first argument of the processes that guard agents.
pub const GUARD: &str = "guard";
/// The one tenant of a single-user install.
const TENANT: &str = "default";
/// How many digits of an instance's id stand in its name.
const NAME_DIGITS: usize = 8;

/// What is on this machine, opened.
pub struct Local {
    /// The opened database.
    pub store: Store,
    /// The one tenant of the install.
    pub tenant: TenantId,
    /// The data folder.
    pub folder: DataFolder,
    pub(crate) instance: InstanceId,
    pub(crate) clock: Arc<dyn Clock>,
    /// The same clock, where others share the database, and it must be kept right.
    pub(crate) fleet: Option<Arc<FleetClock>>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) guard: GuardProgram,
    /// The settings of the loops.
    pub settings: Settings,
    /// The environment, from which harnesses may pass variables on to agents.
    pub(crate) environment: BTreeMap<String, String>,
    probe: Arc<dyn Probe>,
    demo_command: Vec<String>,
    unified: bool,
}

impl Local {
    /// Opens the data folder and the database, and makes what is not there. Agents may inherit variables of
    /// `environment`.
    pub async fn open(
        path: &Path,
        config: &Config,
        environment: BTreeMap<String, String>,
    ) -> Result<Self, Error> {
        let folder = DataFolder::open(path)?;
        let location = location(config)?;
        let location = location.unwrap_or_else(|| Location::SqliteFile(folder.database()));
        Self::open_at(folder, &location, config, environment).await
    }

    /// Opens a data folder with a database that is named.
    pub async fn open_at(
        folder: DataFolder,
        location: &Location,
        config: &Config,
        environment: BTreeMap<String, String>,
    ) -> Result<Self, Error> {
        let settings = loop_settings(config);
        let (clock, fleet) = clocks(location);
        let entropy: Arc<dyn Entropy> = Arc::new(OsEntropy);
        let demo_command = demo_command(&folder)?;
        let guard = guard_program();
        let instance = folder.instance(&*clock, &*entropy)?;
        let database = store::open(location).await?;
        let store = Store::new(database, Arc::clone(&entropy), folder.sessions());
        if let Some(fleet) = &fleet {
            fleet.read(&store).await.map_err(unreadable_clock)?;
        }
        let now = clock.now();
        let tenant = store.ensure_tenant(TENANT, now).await?;
        let digits = instance.uuid().simple().to_string();
        let name = format!("{}-{}", hostname(), &digits[digits.len() - NAME_DIGITS..]);
        store.register_host(tenant, instance, &name, now).await?;
        let probe = AgentProbe {
            guard: guard.clone(),
            environment: environment.clone(),
            cwd: folder.path().to_owned(),
            entropy: Arc::clone(&entropy),
        };
        let local = Self {
            store,
            tenant,
            folder,
            instance,
            clock,
            fleet,
            entropy,
            guard,
            settings,
            environment,
            probe: Arc::new(probe),
            demo_command,
            unified: config.unified_session.value,
        };
        let service = Service::new(
            local.store.clone(),
            tenant,
            Arc::clone(&local.clock),
            Arc::clone(&local.entropy),
            Arc::clone(&local.probe),
        );
        service.add_known_harnesses(&local.demo_command).await?;
        Ok(local)
    }

    /// The API over it, to be put together.
    pub(crate) fn api(&self) -> ApiBuilder {
        let builder = Api::over(
            self.store.clone(),
            self.tenant,
            Arc::clone(&self.clock),
            Arc::clone(&self.entropy),
            Arc::clone(&self.probe),
        );
        builder
            .agents(self.environment.clone(), self.demo_command.clone())
            .allowing(self.settings.webhook_allow.clone())
            .unified(self.unified)
    }

    /// The routes of this process, where it serves nobody else.
    pub fn routes(&self) -> Router {
        api::router(self.api().build())
    }

    /// A client that asks routes of this process.
    pub fn client_of(&self, routes: Router) -> Client {
        let routes = routes.layer(Extension(Peer::Private));
        Client::within(routes, Arc::clone(&self.entropy))
    }

    /// Closes the database, which folds SQLite's log into its file, so that a copy of that one file is a
    /// whole backup.
    pub async fn close(self) {
        self.store.database().clone().close().await;
    }
}

/// The clock that everything goes by: on PostgreSQL, which others may share, the database's.
fn clocks(location: &Location) -> (Arc<dyn Clock>, Option<Arc<FleetClock>>) {
    let own: Arc<dyn Clock> = Arc::new(SystemClock);
    match location {
        Location::Postgres(_) => {
            let shared = Arc::new(FleetClock::new(own, Arc::new(SystemUptime)));
            (Arc::<FleetClock>::clone(&shared), Some(shared))
        }
        Location::SqliteFile(_) | Location::SqliteMemory => (own, None),
    }
}

fn unreadable_clock(error: daemon::Error) -> Error {
    match error {
        daemon::Error::Store(error) => error.into(),
        error => error.into(),
    }
}

/// What guards are started by: this program, whatever lies at its path by then.
pub fn guard_program() -> GuardProgram {
    GuardProgram::this_program([GUARD.into()])
}

/// What starts the demonstration agent: this program, by its path.
fn demo_command(folder: &DataFolder) -> Result<Vec<String>, Error> {
    let program = std::env::current_exe().map_err(Error::Program)?;
    let home = folder.demo_agent().into_os_string();
    let parts = [
        program.into_os_string(),
        "demo-agent".into(),
        "--home".into(),
        home,
    ];
    let parts = parts.map(|part| part.to_string_lossy().into_owned());
    Ok(parts.into())
}
