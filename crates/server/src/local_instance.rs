//! The local part of Matins: the data folder, the database, and the API routes over both.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use agent::GuardProgram;
use api::{AgentTools, Api, ApiBuilder, Peer, TurnTiming};
use artifacts::ContentFolder;
use axum::{Extension, Router};
use client::Client;
use config::Config;
use daemon::{FleetClock, Settings};
use model::{Clock, Entropy, InstanceId, TenantId, schedule::Zone};
use service::{ArtifactFiles, Probe, Service};
use store::{Location, Store};

use crate::{
    boxed,
    data_folder::DataFolder,
    error::Error,
    probe::AgentProbe,
    service_tools::answer_message,
    settings::{daemon_settings, database_location},
    system::{OsEntropy, SystemClock, SystemUptime, hostname},
};

/// The first argument of the guard processes that supervise agents.
pub const GUARD_ARGUMENT: &str = "guard";
/// The name of the only tenant of a single-user installation.
const DEFAULT_TENANT_NAME: &str = "default";
/// The number of digits of the instance ID that the name of the instance contains.
const INSTANCE_NAME_ID_DIGITS: usize = 8;

/// The opened data folder and database of this machine.
pub struct LocalInstance {
    /// The opened database.
    pub store: Store,
    /// The only tenant of the installation.
    pub tenant: TenantId,
    /// The data folder.
    pub folder: DataFolder,
    /// The ID of the instance that the data folder belongs to.
    pub(crate) instance: InstanceId,
    /// The clock of all operations.
    pub(crate) clock: Arc<dyn Clock>,
    /// The same clock with its concrete type, because a database that several servers share needs a task that keeps
    /// the clock synchronized. `None` on SQLite.
    pub(crate) fleet_clock: Option<Arc<FleetClock>>,
    pub(crate) entropy: Arc<dyn Entropy>,
    /// The command line that starts guard processes.
    pub(crate) guard: GuardProgram,
    /// The settings of the daemon.
    pub settings: Settings,
    /// The environment whose variables agents may inherit.
    pub(crate) environment: BTreeMap<String, String>,
    probe: Arc<dyn Probe>,
    demo_command: Vec<String>,
    unified: bool,
    /// The zone of an agent's schedule for which it names none.
    pub(crate) zone: Zone,
}

impl LocalInstance {
    /// Opens the data folder and the configured database, and creates both if they do not exist. Agents may inherit
    /// variables of `environment`.
    #[boxed]
    pub async fn open(
        path: &Path,
        config: &Config,
        environment: BTreeMap<String, String>,
    ) -> Result<Self, Error> {
        let folder = DataFolder::open(path)?;
        let location = database_location(config)?;
        let location = location.unwrap_or_else(|| Location::SqliteFile(folder.database_path()));
        Self::open_at(folder, &location, config, environment).await
    }

    /// Opens a data folder with the database at `location`.
    #[boxed]
    pub async fn open_at(
        folder: DataFolder,
        location: &Location,
        config: &Config,
        environment: BTreeMap<String, String>,
    ) -> Result<Self, Error> {
        let settings = daemon_settings(config);
        let (clock, fleet) = clocks(location);
        let entropy: Arc<dyn Entropy> = Arc::new(OsEntropy);
        let demo_command = demo_command(&folder)?;
        let guard = guard_program();
        let instance = folder.instance_id(&*clock, &*entropy)?;
        let database = store::open(location).await?;
        let store = Store::new(database, Arc::clone(&entropy), folder.sessions_path())
            .with_shared_directories(config.shared_directories.value.clone());
        // Read the shared clock before its first use below, because it is unknown until then.
        if let Some(fleet) = &fleet {
            fleet.read(&store).await.map_err(clock_read_error)?;
        }
        let now = clock.now();
        let tenant = store.ensure_tenant(DEFAULT_TENANT_NAME, now).await?;
        let digits = instance.uuid().simple().to_string();
        let name = format!(
            "{}-{}",
            hostname(),
            &digits[digits.len() - INSTANCE_NAME_ID_DIGITS..]
        );
        store
            .register_instance(tenant, instance, &name, now)
            .await?;
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
            fleet_clock: fleet,
            entropy,
            guard,
            settings,
            environment,
            probe: Arc::new(probe),
            demo_command,
            unified: config.unified_session.value,
            zone: config.default_zone.value.clone().unwrap_or_else(Zone::utc),
        };
        local
            .service()
            .add_known_agents(&local.demo_command)
            .await?;
        Ok(local)
    }

    /// Returns the rules over this store, for the tenant of the installation.
    pub(crate) fn service(&self) -> Service {
        Service::new(
            self.store.clone(),
            self.tenant,
            Arc::clone(&self.clock),
            Arc::clone(&self.entropy),
            Arc::clone(&self.probe),
        )
        .with_artifact_files(Some(self.artifact_files()))
        .with_workers(Some(self.settings.workers))
    }

    /// Returns the contents of artifacts that the data folder holds.
    fn artifact_files(&self) -> ArtifactFiles {
        ArtifactFiles {
            folder: self.content_folder(),
            instance: self.instance,
        }
    }

    /// Returns the folder with the contents of artifacts.
    pub(crate) fn content_folder(&self) -> ContentFolder {
        ContentFolder::new(self.folder.artifacts_path())
    }

    /// Returns a builder of the API over this store. The caller adds the options of its process.
    pub(crate) fn api(&self) -> ApiBuilder {
        let builder = Api::builder(
            self.store.clone(),
            self.tenant,
            Arc::clone(&self.clock),
            Arc::clone(&self.entropy),
            Arc::clone(&self.probe),
        );
        builder
            .with_agents(self.environment.clone(), self.demo_command.clone())
            .with_allowance(self.settings.webhook_allow.clone())
            .with_unified_mode(self.unified)
            .with_workers(self.settings.workers)
            .with_turn_timing(TurnTiming {
                heartbeat: self.settings.heartbeat,
                lease: self.settings.lease(),
                clock_uncertainty: self.settings.clock_uncertainty(),
            })
            .with_artifact_files(self.artifact_files())
            .with_agent_tools(AgentTools {
                answer: answer_message,
                stale_after: self.settings.heartbeat_stale,
                zone: self.zone.clone(),
            })
    }

    /// Returns the API routes for requests of this process alone.
    pub fn routes(&self) -> Router {
        api::router(self.api().build())
    }

    /// Returns a client that calls the given routes inside this process, with the rights of the owner of the folder.
    pub fn in_process_client(&self, routes: Router) -> Client {
        let routes = routes.layer(Extension(Peer::Private));
        Client::in_process(routes, Arc::clone(&self.entropy))
    }

    /// Closes the database. On SQLite this moves the write-ahead log into the database file, so that a copy of that
    /// single file is a complete backup.
    #[boxed]
    pub async fn close(self) {
        self.store.database().clone().close().await;
    }
}

/// Returns the clock of all operations: the clock of the database on PostgreSQL, because several machines may share
/// it, and the system clock on SQLite.
fn clocks(location: &Location) -> (Arc<dyn Clock>, Option<Arc<FleetClock>>) {
    let local: Arc<dyn Clock> = Arc::new(SystemClock);
    match location {
        Location::Postgres(_) => {
            let shared = Arc::new(FleetClock::new(local, Arc::new(SystemUptime)));
            (Arc::<FleetClock>::clone(&shared), Some(shared))
        }
        Location::SqliteFile(_) | Location::SqliteMemory => (local, None),
    }
}

fn clock_read_error(error: daemon::Error) -> Error {
    match error {
        daemon::Error::Store(error) => error.into(),
        error => error.into(),
    }
}

/// Returns the command line that starts guard processes: this program, even if its file was replaced after the start
/// of this process.
pub fn guard_program() -> GuardProgram {
    GuardProgram::this_program([GUARD_ARGUMENT.into()])
}

/// Returns the command line that starts the demonstration agent: the path of this program and its arguments.
fn demo_command(folder: &DataFolder) -> Result<Vec<String>, Error> {
    let program = std::env::current_exe().map_err(Error::ExecutablePath)?;
    let home = folder.demo_agent_path().into_os_string();
    let parts = [
        program.into_os_string(),
        "demo-agent".into(),
        "--home".into(),
        home,
    ];
    let parts = parts.map(|part| part.to_string_lossy().into_owned());
    Ok(parts.into())
}
