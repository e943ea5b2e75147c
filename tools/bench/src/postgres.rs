//! A PostgreSQL server of its own for one run of a task, below a folder that the caller removes.
//!
//! It listens on a socket alone. A shell stands between this process and the server and waits for the
//! end of its input: however this process ends, the server is stopped. Its data is thrown away, so it is
//! stopped without a last checkpoint.

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

/// Who the programs are that use the databases: no superuser, and held by row-level security.
const ROLE: &str = "matins";
/// Who makes and drops databases.
const SUPERUSER: &str = "postgres";
/// The server never listens on TCP; the number is only part of the socket's name.
const PORT: &str = "5432";
/// How long the server may take until it answers.
const START_TIMEOUT: Duration = Duration::from_mins(1);
/// How often it is asked meanwhile.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Starts the server, and stops it when nobody is left to write to the standard input.
const KEEPER_SCRIPT: &str =
    "\"$0\" \"$@\" & server=$!; read -r _; kill -QUIT $server; wait $server";

/// The running server; stopped when it is dropped.
#[derive(Debug)]
pub(crate) struct PostgresServer {
    keeper: Child,
    keeper_input: Option<ChildStdin>,
    socket: TempDir,
    version: String,
}

/// A database of its own on the server.
#[derive(Debug, Clone)]
pub(crate) struct Database {
    name: String,
    /// The address for a role without any privilege beyond this database.
    pub(crate) url: String,
    /// The address for the superuser, who stands above row-level security.
    pub(crate) superuser_url: String,
}

impl PostgresServer {
    /// Starts a new server with `settings` (`name=value`), its data below `folder`. Where this is
    /// root, the folder is given to the user that the server runs as.
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
        let made = initdb.output().context("run initdb")?;
        ensure!(
            made.status.success(),
            "initdb failed; every folder above {} must let the user of the server pass: {}",
            folder.display(),
            String::from_utf8_lossy(&made.stderr).trim()
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
            .context("run sh")?;
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

    /// Which version of PostgreSQL it is.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// Makes an empty database.
    pub(crate) async fn create_database(&self, name: &str) -> Result<Database> {
        let made = format!("create database {name} owner {ROLE} template template0");
        self.administer(made).await?;
        Ok(Database {
            name: name.to_owned(),
            url: self.url(ROLE, name),
            superuser_url: self.url(SUPERUSER, name),
        })
    }

    /// Drops a database with whoever is connected to it.
    pub(crate) async fn drop_database(&self, database: &Database) -> Result<()> {
        self.administer(format!("drop database {} with (force)", database.name))
            .await
    }

    /// Stops it.
    pub(crate) fn stop(self) {
        drop(self);
    }

    async fn administer(&self, statement: String) -> Result<()> {
        let mut connection = PgConnection::connect(&self.url(SUPERUSER, "postgres")).await?;
        connection.execute(AssertSqlSafe(statement)).await?;
        connection.close().await?;
        Ok(())
    }

    /// Waits until it answers.
    async fn wait_until_ready(&mut self, log: &Path) -> Result<PgConnection> {
        let url = self.url(SUPERUSER, "postgres");
        let started = Instant::now();
        loop {
            match PgConnection::connect(&url).await {
                Ok(connection) => return Ok(connection),
                Err(error) if started.elapsed() > START_TIMEOUT => {
                    let said = fs::read_to_string(log).unwrap_or_default();
                    let last = said.lines().last().unwrap_or_default();
                    bail!("the server does not answer: {error}: {last}");
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
        // The keeper reads the end of its input, and stops the server.
        self.keeper_input = None;
        let _ = self.keeper.wait();
    }
}

impl Database {
    /// Connects as the superuser.
    pub(crate) async fn connect_superuser(&self) -> Result<PgConnection> {
        Ok(PgConnection::connect(&self.superuser_url).await?)
    }

    /// Writes down what is not yet on the disk, and looks at all tables: so each load begins alike.
    pub(crate) async fn vacuum_and_checkpoint(&self) -> Result<()> {
        let mut connection = self.connect_superuser().await?;
        connection.execute("vacuum analyze").await?;
        connection.execute("checkpoint").await?;
        connection.close().await?;
        Ok(())
    }
}

/// A program that runs as `account` in `folder`.
fn command(program: &Path, account: Option<Account>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder);
    if let Some(Account { uid, gid }) = account {
        command.uid(uid).gid(gid);
    }
    command
}

/// A user of the system who is not root: PostgreSQL refuses to run as root.
#[derive(Debug, Clone, Copy)]
struct Account {
    uid: u32,
    gid: u32,
}

impl Account {
    /// Whom the server runs as, where it cannot be this user.
    fn for_server() -> Result<Option<Self>> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let accounts = fs::read_to_string("/etc/passwd").context("read /etc/passwd")?;
        let found = ["postgres", "nobody"]
            .into_iter()
            .find_map(|name| Self::find(&accounts, name));
        let found = found.context("find a user for the server: neither `postgres` nor `nobody`")?;
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
