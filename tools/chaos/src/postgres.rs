//! A PostgreSQL server for one test, which the faults stop and start.
//!
//! `fsync` stays on, because committed data must survive `stop -m immediate`. Matins connects over TCP as a role
//! without special rights. Its password is one of the secrets that must not appear in any log or row. The test itself
//! connects over the Unix socket as superuser.

use std::{
    fs,
    net::TcpListener,
    os::unix::fs::{PermissionsExt as _, chown},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use anyhow::{Context as _, Result, bail};
use serde::de::DeserializeOwned;
use testkit::databases::find_binaries;

/// The role of Matins. It is no superuser, so row-level security applies to it.
pub(crate) const ROLE: &str = "matins";
/// The database of Matins.
pub(crate) const DATABASE: &str = "matins";
const SUPERUSER: &str = "postgres";
/// The number of connections for ordinary roles. Superusers have three reserved connections in addition.
pub(crate) const MAX_CONNECTIONS: usize = 80;
const PROGRAMS: [&str; 5] = ["initdb", "pg_ctl", "psql", "pg_dump", "postgres"];

/// A PostgreSQL server. It is stopped when the value is dropped.
#[derive(Debug)]
pub(crate) struct Postgres {
    binaries: PathBuf,
    /// The user and group ID for the programs of PostgreSQL, which refuse to run as root. `None` if the test does not
    /// run as root.
    account: Option<(u32, u32)>,
    folder: PathBuf,
    pub(crate) port: u16,
    pub(crate) password: String,
}

impl Postgres {
    /// Creates a server below `folder`, starts it, and creates the role and the database of Matins.
    pub(crate) fn create(folder: &Path, password: &str) -> Result<Self> {
        let account = if rustix::process::geteuid().is_root() {
            Some(find_unprivileged_account()?)
        } else {
            None
        };
        let folder = folder.join("postgres");
        fs::create_dir(&folder)?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700))?;
        if let Some((uid, gid)) = account {
            chown(&folder, Some(uid), Some(gid))?;
        }
        // The port is free now. If another process takes it before the start, the start returns an error.
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let server = Self {
            binaries: find_binaries(&PROGRAMS)?,
            account,
            folder,
            port,
            password: password.to_owned(),
        };
        let data = server.data_path();
        let (local, host) = ("--auth-local=trust", "--auth-host=password");
        let initdb = ["-E", "UTF8", "--locale=C", local, host, "-U", SUPERUSER];
        let mut command = server.command("initdb");
        run(command.args(initdb).arg("-D").arg(&data))?;
        server.start()?;
        server.sql(&format!(
            "create role {ROLE} login nosuperuser nocreatedb password '{password}'"
        ))?;
        server.sql(&format!("create database {DATABASE} owner {ROLE}"))?;
        Ok(server)
    }

    fn data_path(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Returns the path of the server's log.
    pub(crate) fn log_path(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// Returns the URL of the database with the password. `port` is the server's port or that of a proxy.
    pub(crate) fn url(&self, port: u16) -> String {
        let password = &self.password;
        format!("postgres://{ROLE}:{password}@127.0.0.1:{port}/{DATABASE}")
    }

    /// Starts the server and waits until it accepts connections.
    pub(crate) fn start(&self) -> Result<()> {
        // `track_commit_timestamp` gives the checks the instant of each commit by the database's clock.
        let options = format!(
            "-k {} -p {} -c listen_addresses=127.0.0.1 -c max_connections={} \
             -c log_min_messages=warning -c track_commit_timestamp=on",
            self.folder.display(),
            self.port,
            MAX_CONNECTIONS + 3,
        );
        let mut command = self.command("pg_ctl");
        command
            .arg("-D")
            .arg(self.data_path())
            .arg("-l")
            .arg(self.log_path());
        run(command.args(["-o", &options, "-w", "start"])).map(drop)
    }

    /// Stops the server like a crash: it writes nothing more, and its next start recovers from the write-ahead log.
    pub(crate) fn stop(&self) -> Result<()> {
        let mut command = self.command("pg_ctl");
        command.arg("-D").arg(self.data_path());
        run(command.args(["-m", "immediate", "stop"])).map(drop)
    }

    /// Runs a statement as superuser and returns the output of `psql`.
    pub(crate) fn sql(&self, statement: &str) -> Result<String> {
        // The database of Matins does not exist yet when the role and the database are created.
        let database = if statement.starts_with("create") {
            SUPERUSER
        } else {
            DATABASE
        };
        let mut command = self.client_command("psql", database);
        command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c"]);
        let output = run(command.arg(statement))?;
        String::from_utf8(output.stdout).context("the output of psql is not UTF-8")
    }

    /// Returns the rows of a query. The query runs as superuser, so that row-level security hides no row.
    pub(crate) fn rows<T: DeserializeOwned>(&self, query: &str) -> Result<Vec<T>> {
        let rows = self.sql(&format!(
            "select coalesce(json_agg(found), '[]') from (\n{query}\n) found"
        ))?;
        serde_json::from_str(&rows).with_context(|| format!("cannot parse the rows of {query}"))
    }

    /// Executes a statement as superuser and returns the number of changed rows.
    pub(crate) fn execute(&self, statement: &str) -> Result<u64> {
        let changed = self.sql(&format!(
            "with changed as (\n{statement}\nreturning 1) select count(*) from changed"
        ))?;
        let count = changed.trim().parse();
        count.with_context(|| format!("psql printed no number of rows for {statement}"))
    }

    /// Returns a dump of the whole database as text.
    pub(crate) fn dump(&self) -> Result<String> {
        let output = run(&mut self.client_command("pg_dump", DATABASE))?;
        String::from_utf8(output.stdout).context("the output of pg_dump is not UTF-8")
    }

    /// Returns a command for a client program that connects to `database` over the socket as superuser.
    fn client_command(&self, program: &str, database: &str) -> Command {
        let mut command = self.command(program);
        command.arg("-h").arg(&self.folder);
        command.args(["-p", &self.port.to_string(), "-U", SUPERUSER]);
        command.args(["-d", database]);
        command.env("PGCONNECT_TIMEOUT", "5");
        command
    }

    /// Returns a command for a program of PostgreSQL, with the user and folder of the server.
    fn command(&self, program: &str) -> Command {
        use std::os::unix::process::CommandExt as _;
        let mut command = Command::new(self.binaries.join(program));
        command.current_dir(&self.folder).stdin(Stdio::null());
        // A process group of its own keeps Ctrl-C in the terminal from interrupting PostgreSQL.
        command.process_group(0);
        if let Some((uid, gid)) = self.account {
            command.uid(uid).gid(gid);
        }
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Ignore the error, because a fault may have stopped the server already.
        self.stop().ok();
    }
}

/// Runs a program and returns its output.
///
/// # Errors
///
/// Returns an error with the program's error output if its exit status is not 0.
fn run(command: &mut Command) -> Result<Output> {
    let name = Path::new(command.get_program()).display().to_string();
    let output = command
        .output()
        .with_context(|| format!("cannot run `{name}`"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("`{name}` ended with {}: {}", output.status, stderr.trim());
    }
    Ok(output)
}

/// Returns the user and group ID of an account that is not root.
fn find_unprivileged_account() -> Result<(u32, u32)> {
    let accounts = fs::read_to_string("/etc/passwd").context("cannot read `/etc/passwd`")?;
    let find = |name: &str| {
        accounts.lines().find_map(|line| {
            let mut fields = line.split(':');
            (fields.next() == Some(name)).then_some(())?;
            let uid = fields.nth(1)?.parse().ok()?;
            Some((uid, fields.next()?.parse().ok()?))
        })
    };
    ["postgres", "nobody"]
        .into_iter()
        .find_map(find)
        .context("no user for the PostgreSQL server: neither `postgres` nor `nobody` exists")
}
