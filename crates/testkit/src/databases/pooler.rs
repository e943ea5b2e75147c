//! A private PgBouncer before the test server, for one test.
//!
//! It has a socket in a folder of its own and no network port. A shell holds it: the shell reads from this
//! process, and ends the pooler when there is nobody to read from any more, however that came.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    os::unix::{
        fs::{PermissionsExt as _, chown},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use anyhow::{Context as _, bail};
use tempfile::TempDir;

use super::postgres_server::{ROLE, SUPERUSER, Server};

/// Only a part of the socket's name.
const SOCKET_PORT: &str = "6432";
/// Ends the pooler when its standard input ends.
const HOLDER_SCRIPT: &str = "\"$1\" \"$2\" & pooler=$!; read -r end; kill $pooler; wait $pooler";

/// For how long a pooler lends a connection to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolMode {
    /// As long as a client is connected.
    Session,
    /// For one transaction.
    Transaction,
    /// For one statement.
    Statement,
}

impl PoolMode {
    const fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Transaction => "transaction",
            Self::Statement => "statement",
        }
    }
}

/// A running PgBouncer, gone with the value.
#[derive(Debug)]
pub struct Pooler {
    holder: Child,
    folder: TempDir,
    database: String,
}

impl Pooler {
    /// Starts a pooler of `servers` connections before a database. `more` are further lines of its settings.
    pub(super) fn start(
        server: &Server,
        database: &str,
        mode: PoolMode,
        servers: u32,
        more: &str,
    ) -> anyhow::Result<Self> {
        let program = find_pgbouncer()?;
        let folder = tempfile::tempdir().context("create a folder for a pooler")?;
        let home = folder.path();
        let users = home.join("users");
        let users_text = format!("\"{ROLE}\" \"\"\n\"{SUPERUSER}\" \"\"\n");
        fs::write(&users, users_text).context("write the pooler's users")?;
        let settings = home.join("settings.ini");
        let text = format!(
            "[databases]\n* = host={socket} port=5432\n[pgbouncer]\nlisten_addr =\nlisten_port = {SOCKET_PORT}\n\
             unix_socket_dir = {home}\nauth_type = trust\nauth_file = {users}\npool_mode = {mode}\n\
             default_pool_size = {servers}\nmax_client_conn = 200\n{more}\n",
            socket = server.socket().display(),
            home = home.display(),
            users = users.display(),
            mode = mode.name(),
        );
        fs::write(&settings, text).context("write the pooler's settings")?;
        let mut command = Command::new("sh");
        command
            .args(["-c", HOLDER_SCRIPT, "sh"])
            .arg(program)
            .arg(&settings);
        if let Some((uid, gid)) = server.account() {
            // It refuses to run as root, like the server.
            for path in [home, &users, &settings] {
                chown(path, Some(uid), Some(gid)).context("give the pooler its folder")?;
            }
            command.uid(uid).gid(gid);
        } else {
            let mode = fs::Permissions::from_mode(0o700);
            fs::set_permissions(home, mode).context("close the pooler's folder")?;
        }
        let mut holder = command
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("run sh")?;
        let said = holder.stderr.take().context("hear the pooler")?;
        let pooler = Self {
            holder,
            folder,
            database: database.to_owned(),
        };
        let mut said = BufReader::new(said);
        let mut log = String::new();
        loop {
            let before = log.len();
            if said.read_line(&mut log).context("hear the pooler")? == 0 {
                bail!("start pgbouncer: {log}");
            }
            if log[before..].contains("process up") {
                break;
            }
        }
        // What is not read would stop it in the end.
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut said, &mut std::io::sink());
        });
        Ok(pooler)
    }

    /// The address of the database through the pooler.
    pub fn url(&self) -> String {
        let database = &self.database;
        let socket = self.folder.path().display();
        format!("postgres://{ROLE}@localhost:{SOCKET_PORT}/{database}?host={socket}")
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
    }
}

/// Finds the program: on the `PATH`, else where Debian has it.
#[expect(clippy::disallowed_methods, reason = "only tests start a pooler")]
fn find_pgbouncer() -> anyhow::Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain([Path::new("/usr/sbin").to_owned()])
        .map(|folder| folder.join("pgbouncer"))
        .find(|program| program.exists())
        .context(
            "find pgbouncer on the PATH or in /usr/sbin: install it (Debian: apt install pgbouncer)",
        )
}
