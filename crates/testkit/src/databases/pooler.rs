//! A private PgBouncer in front of the test server, for one test.
//!
//! PgBouncer listens only on a socket in its own folder. A shell, the holder, starts it, reads from this process, and
//! stops PgBouncer at the end of that input. The input ends however this process ends, so no pooler outlives its test.

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

/// The port in the name of the socket. PgBouncer does not listen on TCP.
const SOCKET_PORT: &str = "6432";
/// The holder: starts the pooler, and stops it at the end of the standard input.
const HOLDER_SCRIPT: &str = "\"$1\" \"$2\" & pooler=$!; read -r end; kill $pooler; wait $pooler";

/// The duration for which a client keeps a connection to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolMode {
    /// Until the client disconnects.
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

/// A running PgBouncer. Drop stops it.
#[derive(Debug)]
pub struct Pooler {
    holder: Child,
    folder: TempDir,
    database: String,
}

impl Pooler {
    /// Starts a pooler with up to `servers` connections to a database. `more` has further lines of its settings.
    pub(super) fn start(
        server: &Server,
        database: &str,
        mode: PoolMode,
        servers: u32,
        more: &str,
    ) -> anyhow::Result<Self> {
        let program = find_pgbouncer()?;
        let folder = tempfile::tempdir().context("cannot create a folder for a pooler")?;
        let home = folder.path();
        let users = home.join("users");
        let users_text = format!("\"{ROLE}\" \"\"\n\"{SUPERUSER}\" \"\"\n");
        fs::write(&users, users_text).context("cannot write the users of the pooler")?;
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
        fs::write(&settings, text).context("cannot write the settings of the pooler")?;
        let mut command = Command::new("sh");
        command
            .args(["-c", HOLDER_SCRIPT, "sh"])
            .arg(program)
            .arg(&settings);
        if let Some((uid, gid)) = server.account() {
            // PgBouncer refuses to run as root, like the server.
            for path in [home, &users, &settings] {
                chown(path, Some(uid), Some(gid))
                    .context("cannot change the owner of the pooler's folder")?;
            }
            command.uid(uid).gid(gid);
        } else {
            let mode = fs::Permissions::from_mode(0o700);
            fs::set_permissions(home, mode).context("cannot restrict the pooler's folder")?;
        }
        let mut holder = command
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot run `sh`")?;
        let stderr = holder
            .stderr
            .take()
            .context("the pooler has no standard error")?;
        let pooler = Self {
            holder,
            folder,
            database: database.to_owned(),
        };
        let mut stderr = BufReader::new(stderr);
        let mut log = String::new();
        loop {
            let before = log.len();
            if stderr
                .read_line(&mut log)
                .context("cannot read the pooler's log")?
                == 0
            {
                bail!("pgbouncer ended during its start: {log}");
            }
            if log[before..].contains("process up") {
                break;
            }
        }
        // Read the remaining log, because a full pipe would block the pooler.
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut stderr, &mut std::io::sink());
        });
        Ok(pooler)
    }

    /// Returns the address of the database through the pooler.
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

/// Returns the path of `pgbouncer`: on the `PATH`, else in the folder in which Debian installs it.
#[expect(clippy::disallowed_methods, reason = "only tests start a pooler")]
fn find_pgbouncer() -> anyhow::Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain([Path::new("/usr/sbin").to_owned()])
        .map(|folder| folder.join("pgbouncer"))
        .find(|program| program.exists())
        .context(
            "cannot find `pgbouncer` on the PATH or in /usr/sbin; install it (Debian: apt install pgbouncer)",
        )
}
