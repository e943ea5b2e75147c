//! A PostgreSQL server of its own, which may be killed.
//!
//! Data is synced as in earnest: what was committed must be there after `stop -m immediate`. Matins comes by
//! TCP as a role without special rights and with a password, which is one of the secrets that must appear
//! nowhere; whoever looks from outside comes by the socket, as superuser.

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

/// Who Matins is: no superuser, and held by row-level security.
pub(crate) const ROLE: &str = "matins";
/// The database of Matins.
pub(crate) const DATABASE: &str = "matins";
const SUPERUSER: &str = "postgres";
/// How many connections the server takes. Those of superusers come on top.
pub(crate) const CONNECTIONS: usize = 80;
const PROGRAMS: [&str; 5] = ["initdb", "pg_ctl", "psql", "pg_dump", "postgres"];

/// The server. It is stopped with the value.
#[derive(Debug)]
pub(crate) struct Postgres {
    binaries: PathBuf,
    /// Whom its programs run as: PostgreSQL refuses to run as root.
    account: Option<(u32, u32)>,
    folder: PathBuf,
    pub(crate) port: u16,
    pub(crate) password: String,
}

impl Postgres {
    /// Makes a server below `folder`, starts it, and makes the role and its database.
    pub(crate) fn make(folder: &Path, password: &str) -> Result<Self> {
        let account = if rustix::process::geteuid().is_root() {
            Some(unprivileged()?)
        } else {
            None
        };
        let folder = folder.join("postgres");
        fs::create_dir(&folder)?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700))?;
        if let Some((uid, gid)) = account {
            chown(&folder, Some(uid), Some(gid))?;
        }
        // Free now; whoever takes it meanwhile makes the start fail, loudly.
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let server = Self {
            binaries: find_binaries(&PROGRAMS)?,
            account,
            folder,
            port,
            password: password.to_owned(),
        };
        let data = server.data();
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

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// What it logs.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// The address by TCP, at its own port or at that of a proxy.
    pub(crate) fn url(&self, port: u16) -> String {
        let password = &self.password;
        format!("postgres://{ROLE}:{password}@127.0.0.1:{port}/{DATABASE}")
    }

    /// Starts it, and waits until it takes connections.
    pub(crate) fn start(&self) -> Result<()> {
        let options = format!(
            "-k {} -p {} -c listen_addresses=127.0.0.1 -c max_connections={} \
             -c log_min_messages=warning -c track_commit_timestamp=on",
            self.folder.display(),
            self.port,
            CONNECTIONS + 3,
        );
        let mut command = self.command("pg_ctl");
        command.arg("-D").arg(self.data()).arg("-l").arg(self.log());
        run(command.args(["-o", &options, "-w", "start"])).map(drop)
    }

    /// Ends it as a crash would: nothing is written any more.
    pub(crate) fn stop(&self) -> Result<()> {
        let mut command = self.command("pg_ctl");
        command.arg("-D").arg(self.data());
        run(command.args(["-m", "immediate", "stop"])).map(drop)
    }

    /// Runs a statement as superuser.
    pub(crate) fn sql(&self, statement: &str) -> Result<String> {
        let database = if statement.starts_with("create") {
            SUPERUSER
        } else {
            DATABASE
        };
        let mut command = self.client("psql", database);
        command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c"]);
        let output = run(command.arg(statement))?;
        String::from_utf8(output.stdout).context("read what psql wrote")
    }

    /// The rows of a query as superuser, whom row-level security does not hold.
    pub(crate) fn rows<T: DeserializeOwned>(&self, query: &str) -> Result<Vec<T>> {
        let rows = self.sql(&format!(
            "select coalesce(json_agg(found), '[]') from (\n{query}\n) found"
        ))?;
        serde_json::from_str(&rows).with_context(|| format!("understand the rows of {query}"))
    }

    /// Everything that is in the database, as text.
    pub(crate) fn dump(&self) -> Result<String> {
        let output = run(&mut self.client("pg_dump", DATABASE))?;
        String::from_utf8(output.stdout).context("read what pg_dump wrote")
    }

    fn client(&self, program: &str, database: &str) -> Command {
        let mut command = self.command(program);
        command.arg("-h").arg(&self.folder);
        command.args(["-p", &self.port.to_string(), "-U", SUPERUSER]);
        command.args(["-d", database]);
        command.env("PGCONNECT_TIMEOUT", "5");
        command
    }

    fn command(&self, program: &str) -> Command {
        use std::os::unix::process::CommandExt as _;
        let mut command = Command::new(self.binaries.join(program));
        command.current_dir(&self.folder).stdin(Stdio::null());
        // A key that is pressed for this program is none of the server's.
        command.process_group(0);
        if let Some((uid, gid)) = self.account {
            command.uid(uid).gid(gid);
        }
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // It may be stopped already.
        self.stop().ok();
    }
}

/// Runs a program to its end, which must be a good one.
fn run(command: &mut Command) -> Result<Output> {
    let name = Path::new(command.get_program()).display().to_string();
    let output = command.output().with_context(|| format!("run {name}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("run {name}: {}: {}", output.status, said.trim());
    }
    Ok(output)
}

/// A user of the system who is not root.
fn unprivileged() -> Result<(u32, u32)> {
    let accounts = fs::read_to_string("/etc/passwd").context("read /etc/passwd")?;
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
        .context("find a user for the server: neither `postgres` nor `nobody` exists")
}
