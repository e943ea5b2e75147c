//! A private PostgreSQL server for one run of the benchmarks, below a folder that the caller removes.
//!
//! The server listens only on a Unix socket. A shell, the keeper, starts the server, waits for the end of its own
//! standard input, and then stops the server. However this process ends, its end of that pipe closes, so the server
//! never outlives this process. The stop is immediate and makes no checkpoint, because the data is temporary.

use std::{
    fs,
    os::unix::{fs::chown, process::CommandExt as _},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use tempfile::TempDir;
use testkit::databases::find_binaries;
use tokio::time::sleep;

/// The role of the benchmarks. It is no superuser, so row-level security applies to it.
const ROLE: &str = "matins";
/// The role that creates and drops databases.
const SUPERUSER: &str = "postgres";
/// The port in the name of the socket. The server does not listen on TCP.
const PORT: &str = "5432";
/// The maximum time until the server accepts connections.
const START_TIMEOUT: Duration = Duration::from_mins(1);
/// The interval of the attempts to connect.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The keeper: starts the server, and stops it at the end of the standard input.
const KEEPER_SCRIPT: &str =
    "\"$0\" \"$@\" & server=$!; read -r _; kill -QUIT $server; wait $server";

/// A running server; stopped when it is dropped.
#[derive(Debug)]
pub(crate) struct PostgresServer {
    keeper: Child,
    keeper_input: Option<ChildStdin>,
    socket: TempDir,
    version: String,
}

/// A database on the server.
#[derive(Debug, Clone)]
pub(crate) struct Database {
    name: String,
    /// The address for [`ROLE`], which has no privilege beyond this database.
    pub(crate) url: String,
    /// The address for the superuser, whom row-level security does not restrict.
    pub(crate) superuser_url: String,
}

impl PostgresServer {
    /// Starts a server with `settings` (`name=value`) and its data below `folder`. If this process runs as root, the
    /// folder changes its owner to the user of the server.
    pub(crate) async fn start(folder: &Path, settings: &[&str]) -> Result<Self> {
        let binaries = find_binaries(&["initdb", "postgres"])?;
        let account = Account::for_server()?;
        let socket = tempfile::Builder::new().prefix("matins-pg-").tempdir()?;
        if let Some(Account { uid, gid }) = account {
            for folder in [folder, socket.path()] {
                chown(folder, Some(uid), Some(gid))?;
            }
        }
        let data = folder.join("data");
        let mut initdb = command(&binaries.join("initdb"), account, folder);
        initdb
            .args(["-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"])
            .args(["-U", SUPERUSER, "-D"])
            .arg(&data);
        let initialized = initdb.output().context("cannot run `initdb`")?;
        ensure!(
            initialized.status.success(),
            "`initdb` failed (the user of the server must be able to enter every folder above `{}`): {}",
            folder.display(),
            String::from_utf8_lossy(&initialized.stderr).trim()
        );
        let log_path = folder.join("log");
        let log = fs::File::create(&log_path)?;
        let mut keeper = command(Path::new("sh"), account, folder);
        keeper
            .args(["-c", KEEPER_SCRIPT])
            .arg(binaries.join("postgres"))
            .arg("-D")
            .arg(&data)
            .args(["-p", PORT, "-k"])
            .arg(socket.path());
        for setting in [&["listen_addresses="], settings].concat() {
            keeper.args(["-c", setting]);
        }
        let mut keeper = keeper
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("cannot run `sh`")?;
        let input = keeper.stdin.take();
        let mut server = Self {
            keeper,
            keeper_input: input,
            socket,
            version: String::new(),
        };
        let mut connection = server.wait_until_ready(&log_path).await?;
        server.version = sqlx::query_scalar("select current_setting('server_version')")
            .fetch_one(&mut connection)
            .await?;
        let role = format!("create role {ROLE} login nosuperuser nocreatedb nobypassrls");
        connection.execute(AssertSqlSafe(role)).await?;
        connection.close().await?;
        Ok(server)
    }

    /// Returns the version of PostgreSQL.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// Creates an empty database, owned by [`ROLE`].
    pub(crate) async fn create_database(&self, name: &str) -> Result<Database> {
        let statement = format!("create database {name} owner {ROLE} template template0");
        self.administer(statement).await?;
        Ok(Database {
            name: name.to_owned(),
            url: self.url(ROLE, name),
            superuser_url: self.url(SUPERUSER, name),
        })
    }

    /// Drops a database and terminates its connections.
    pub(crate) async fn drop_database(&self, database: &Database) -> Result<()> {
        self.administer(format!("drop database {} with (force)", database.name))
            .await
    }

    /// Stops the server.
    pub(crate) fn stop(self) {
        drop(self);
    }

    async fn administer(&self, statement: String) -> Result<()> {
        let mut connection = PgConnection::connect(&self.url(SUPERUSER, "postgres")).await?;
        connection.execute(AssertSqlSafe(statement)).await?;
        connection.close().await?;
        Ok(())
    }

    /// Waits until the server accepts connections.
    async fn wait_until_ready(&mut self, log: &Path) -> Result<PgConnection> {
        let url = self.url(SUPERUSER, "postgres");
        let started = Instant::now();
        loop {
            match PgConnection::connect(&url).await {
                Ok(connection) => return Ok(connection),
                Err(error) if started.elapsed() > START_TIMEOUT => {
                    let log = fs::read_to_string(log).unwrap_or_default();
                    let last = log.lines().last().unwrap_or_default();
                    bail!(
                        "the server accepts no connection: {error}; the last line of its log: {last}"
                    );
                }
                Err(_) => sleep(POLL_INTERVAL).await,
            }
        }
    }

    fn url(&self, role: &str, database: &str) -> String {
        let socket = self.socket.path().display();
        format!("postgres://{role}@localhost/{database}?host={socket}")
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // The keeper reads the end of its input, stops the server, and ends.
        self.keeper_input = None;
        let _ = self.keeper.wait();
    }
}

impl Database {
    /// Connects as the superuser.
    pub(crate) async fn connect_superuser(&self) -> Result<PgConnection> {
        Ok(PgConnection::connect(&self.superuser_url).await?)
    }

    /// Vacuums and analyzes all tables and writes a checkpoint, so that each measurement starts in the same state.
    pub(crate) async fn vacuum_and_checkpoint(&self) -> Result<()> {
        let mut connection = self.connect_superuser().await?;
        connection.execute("vacuum analyze").await?;
        connection.execute("checkpoint").await?;
        connection.close().await?;
        Ok(())
    }
}

/// Returns a command that runs as `account` in `folder`.
fn command(program: &Path, account: Option<Account>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder);
    if let Some(Account { uid, gid }) = account {
        command.uid(uid).gid(gid);
    }
    command
}

/// An unprivileged user of the system. PostgreSQL refuses to run as root.
#[derive(Debug, Clone, Copy)]
struct Account {
    uid: u32,
    gid: u32,
}

impl Account {
    /// Returns the user of the server if it must differ from the current one, which is root.
    fn for_server() -> Result<Option<Self>> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let accounts = fs::read_to_string("/etc/passwd").context("cannot read `/etc/passwd`")?;
        let found = ["postgres", "nobody"]
            .into_iter()
            .find_map(|name| Self::find(&accounts, name));
        let found = found
            .context("no user for the PostgreSQL server: neither `postgres` nor `nobody` exists")?;
        Ok(Some(found))
    }

    fn find(accounts: &str, name: &str) -> Option<Self> {
        accounts.lines().find_map(|line| {
            let fields: Vec<&str> = line.split(':').collect();
            (fields.first() == Some(&name)).then_some(())?;
            Some(Self {
                uid: fields.get(2)?.parse().ok()?,
                gid: fields.get(3)?.parse().ok()?,
            })
        })
    }
}
