//! One private PostgreSQL server for all test processes of a user.
//!
//! All files are in [`shared_folder`] and not below `target`, because the path of a socket must be short. If the tests
//! run as root, the server runs as another user, which must be able to enter the folder.
//!
//! Two file locks order the life of the server. A process holds `start` while it checks whether the server runs and
//! starts it. Every process that uses the server holds a share of `users` until it ends, however it ends; a watcher
//! stops the server once it gets `users` exclusively.

use std::{
    fs::{self, File, OpenOptions},
    os::unix::{
        fs::{PermissionsExt as _, chown},
        net::UnixStream,
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, bail};

use super::{
    folder::{create_with_mode, shared_folder},
    superuser::SuperuserConnection,
};

/// The role of the tests. It is no superuser, so row-level security applies to it.
pub(super) const ROLE: &str = "matins";
/// The role that creates and drops databases.
pub(super) const SUPERUSER: &str = "postgres";

/// The port in the name of the socket. The server does not listen on TCP.
const SOCKET_PORT: &str = "5432";
/// The settings of the server. They trade durability for speed, because the data is temporary. Tests without row locks
/// cause deadlocks, which the server finds after 0.1 s instead of 1 s.
const SERVER_SETTINGS: &[&str] = &[
    "listen_addresses=",
    "fsync=off",
    "full_page_writes=off",
    "synchronous_commit=off",
    "wal_level=minimal",
    "max_wal_senders=0",
    "max_connections=300",
    "shared_buffers=64MB",
    "deadlock_timeout=100ms",
];
/// The programs of PostgreSQL that this module runs.
const REQUIRED_PROGRAMS: &[&str] = &["postgres", "initdb", "pg_ctl"];
/// The first major version with strategies of `create database`. Earlier versions always copy the files.
const FIRST_VERSION_WITH_STRATEGIES: u32 = 15;
/// The beginning of the marks of databases that no test uses any more.
const UNUSED_MARK: &str = "unused_";
/// The watcher: waits until no process uses the server, waits ten seconds more, and stops the server unless a process
/// uses it again.
const WATCHER_SCRIPT: &str = "while flock -x \"$1\" true; do sleep 10; \
     flock -xn -E 99 \"$1\" \"$2\" -D \"$3\" -m immediate stop; test $? -eq 99 || exit; done";

/// The running server, and this process's share of the `users` lock.
#[derive(Debug)]
pub(super) struct Server {
    binaries: PathBuf,
    /// The user of the server's programs. `None` if it is the current user.
    account: Option<Account>,
    folder: PathBuf,
    superuser: SuperuserConnection,
    _users_lock: File,
}

impl Server {
    /// Takes a share of the server. Starts the server first if it does not run.
    pub(super) fn join() -> anyhow::Result<Self> {
        let binaries = find_binaries(REQUIRED_PROGRAMS)?;
        let account = if rustix::process::geteuid().is_root() {
            Some(Account::unprivileged()?)
        } else {
            None
        };
        let folder = create_folder(account)?;
        // 1. Take `start` before `users`, so that only one process checks and starts the server at a time.
        let start = File::create(folder.join("start.lock")).context("cannot create a lock file")?;
        start
            .lock()
            .context("cannot lock the start of the test server")?;
        let users = folder.join("users.lock");
        let share = File::create(&users).context("cannot create a lock file")?;
        // 2. This waits while the watcher stops the server. Afterwards, the watcher cannot stop it any more.
        share
            .lock_shared()
            .context("cannot share the test server")?;
        let socket = folder.join("server");
        let server = Self {
            binaries,
            account,
            superuser: SuperuserConnection::new(url(&socket, SUPERUSER, SUPERUSER))?,
            folder,
            _users_lock: share,
        };
        // 3. Start the server if it does not run.
        if !server.is_ready() {
            server
                .start()
                .context("cannot start a PostgreSQL server for tests")?;
            server
                .start_watcher(&users)
                .context("cannot start the watcher of the test server")?;
            server.mark_done("ready")?;
        }
        Ok(server)
    }

    /// Returns the folder for locks, which all processes share.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the folder of the server's socket.
    pub(super) fn socket(&self) -> PathBuf {
        self.folder.join("server")
    }

    /// Returns the address of a database for a role.
    pub(super) fn url(&self, role: &str, database: &str) -> String {
        url(&self.socket(), role, database)
    }

    /// Returns the user and group of the server's programs. Returns `None` if it is the current user.
    pub(super) fn account(&self) -> Option<(u32, u32)> {
        self.account.map(|account| (account.uid, account.gid))
    }

    fn data(&self) -> PathBuf {
        self.socket().join("data")
    }

    /// Creates a database of the unprivileged role, as a copy of another database.
    ///
    /// Copies the files, because the default strategy writes each page of the template into the log, and takes twice as
    /// long.
    pub(super) fn create_database(&self, name: &str, template: &str) -> anyhow::Result<()> {
        let strategy = if self.is_marked_done("strategies") {
            "strategy file_copy"
        } else {
            ""
        };
        let sql = format!("create database {name} owner {ROLE} template {template} {strategy}");
        self.superuser.execute(sql)
    }

    /// Marks a database as unused, so that a later test drops it.
    ///
    /// This process may still be connected to it: the connections of a pool end a moment after the pool. The server then
    /// waits 100 ms before it drops a database.
    pub(super) fn leave_database(&self, name: &str) -> anyhow::Result<()> {
        self.mark_done(&format!("{UNUSED_MARK}{name}"))
    }

    /// Drops the databases that earlier tests have left.
    pub(super) fn drop_unused_databases(&self) -> anyhow::Result<()> {
        let entries = fs::read_dir(self.data()).context("cannot list the server's data folder")?;
        for entry in entries.flatten() {
            let file = entry.file_name();
            let name = file
                .to_str()
                .and_then(|name| name.strip_prefix(UNUSED_MARK));
            // Of several processes, the one that removes the mark drops the database.
            if let Some(name) = name
                && fs::remove_file(entry.path()).is_ok()
            {
                // Ignore an error, which would belong to an earlier test. The database stays until the server stops.
                let _ = self.drop_database(name);
            }
        }
        Ok(())
    }

    /// Drops a database and terminates its connections, if the database exists.
    pub(super) fn drop_database(&self, name: &str) -> anyhow::Result<()> {
        self.superuser
            .execute(format!("drop database if exists {name} with (force)"))
    }

    /// Returns `true` if the server accepts connections and its setup was completed.
    fn is_ready(&self) -> bool {
        let socket = self.socket().join(format!(".s.PGSQL.{SOCKET_PORT}"));
        self.is_marked_done("ready") && UnixStream::connect(socket).is_ok()
    }

    /// Returns `true` if [`Self::mark_done`] was called with this name since the start of the server.
    pub(super) fn is_marked_done(&self, name: &str) -> bool {
        self.data().join(name).exists()
    }

    /// Marks a step as done, with a file in the data folder. The next start of the server removes the mark.
    pub(super) fn mark_done(&self, name: &str) -> anyhow::Result<()> {
        fs::write(self.data().join(name), "").context("cannot write into the server's data folder")
    }

    /// Starts the server on a new copy of an initialized data folder, so that a crash of the last run has no effect.
    fn start(&self) -> anyhow::Result<()> {
        let (home, data) = (self.socket(), self.data());
        if data.exists() {
            // Stop the server of an earlier run that still uses the data, and ignore an error: usually none runs.
            let _ = self.run(
                "pg_ctl",
                &["-D", path_text(&data)?, "-m", "immediate", "stop"],
            );
            fs::remove_dir_all(&data).context("cannot remove the data of an earlier run")?;
        }
        let version = self.run("postgres", &["--version"])?;
        let major = major_version(&version).context("`postgres --version` has no number")?;
        let version: String = version
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .collect();
        let pristine = home.join(format!("pristine-{version}"));
        if !pristine.exists() {
            let unfinished = home.join("unfinished");
            let _ = fs::remove_dir_all(&unfinished);
            let initdb = [
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--locale=C",
                "--no-sync",
                "-U",
                SUPERUSER,
            ];
            self.run(
                "initdb",
                &[&initdb[..], &["-D", path_text(&unfinished)?]].concat(),
            )?;
            fs::rename(&unfinished, &pristine).context("cannot keep an initialized data folder")?;
        }
        run(self
            .command(Path::new("cp"))
            .arg("-a")
            .arg(&pristine)
            .arg(&data))?;
        let mut options = format!("-k {} -p {SOCKET_PORT}", path_text(&home)?);
        for setting in SERVER_SETTINGS {
            options.push_str(" -c ");
            options.push_str(setting);
        }
        let log = home.join("log");
        let start = [
            "-D",
            path_text(&data)?,
            "-o",
            &options,
            "-l",
            path_text(&log)?,
            "-w",
            "start",
        ];
        self.run("pg_ctl", &start)
            .with_context(|| format!("the log of the server is `{}`", log.display()))?;
        if major >= FIRST_VERSION_WITH_STRATEGIES {
            self.mark_done("strategies")?;
        }
        self.superuser
            .execute(format!("create role {ROLE} login nosuperuser nocreatedb"))
    }

    /// Starts a process that outlives this one, and that stops the server when no process uses it any more.
    fn start_watcher(&self, users: &Path) -> anyhow::Result<()> {
        // Fail early without `flock`: the watcher has no output, so its error would not be visible.
        run(self.command(Path::new("flock")).arg("--version"))?;
        self.command(Path::new("sh"))
            .args(["-c", WATCHER_SCRIPT, "sh"])
            .arg(users)
            .arg(self.binaries.join("pg_ctl"))
            .arg(self.data())
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot run `sh`")?;
        Ok(())
    }

    fn run(&self, program: &str, arguments: &[&str]) -> anyhow::Result<String> {
        run(self.command(&self.binaries.join(program)).args(arguments))
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.socket());
        if let Some(account) = self.account {
            command.uid(account.uid).gid(account.gid);
        }
        command
    }
}

fn url(socket: &Path, role: &str, database: &str) -> String {
    let socket = socket.display();
    format!("postgres://{role}@localhost/{database}?host={socket}")
}

/// Returns the first number of a version such as `postgres (PostgreSQL) 15.18 (Debian 15.18-0)`.
fn major_version(text: &str) -> Option<u32> {
    text.split(|letter: char| !letter.is_ascii_digit())
        .find_map(|digits| digits.parse().ok())
}

/// Runs a program to its end and returns its standard output.
fn run(command: &mut Command) -> anyhow::Result<String> {
    let name = Path::new(command.get_program()).display().to_string();
    let output = command
        .output()
        .with_context(|| format!("cannot run `{name}`"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("`{name}` ended with {}: {}", output.status, stderr.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn path_text(path: &Path) -> anyhow::Result<&str> {
    path.to_str()
        .context("the path of the temporary folder is not UTF-8")
}

/// An unprivileged user of the system. PostgreSQL refuses to run as root.
#[derive(Debug, Clone, Copy)]
struct Account {
    uid: u32,
    gid: u32,
}

impl Account {
    fn unprivileged() -> anyhow::Result<Self> {
        let accounts = fs::read_to_string("/etc/passwd").context("cannot read `/etc/passwd`")?;
        ["postgres", "nobody"]
            .into_iter()
            .find_map(|name| Self::find(&accounts, name))
            .context("no user for the test server: neither `postgres` nor `nobody` exists")
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

/// Creates the server's folder in the folder of this user, and returns the latter.
fn create_folder(account: Option<Account>) -> anyhow::Result<PathBuf> {
    let folder = shared_folder()?;
    let server = folder.join("server");
    create_with_mode(&server, 0o700)?;
    if let Some(account) = account {
        chown(&server, Some(account.uid), Some(account.gid))
            .context("cannot change the owner of the server's folder")?;
    }
    // The watcher may run as the server's user, which must be able to open the lock file for reading.
    let users = OpenOptions::new()
        .append(true)
        .create(true)
        .open(folder.join("users.lock"))
        .context("cannot create a lock file")?;
    let readable = fs::Permissions::from_mode(0o644);
    users
        .set_permissions(readable)
        .context("cannot create a lock file")?;
    Ok(folder)
}

/// Returns the folder that has all the named programs of PostgreSQL: on the `PATH`, else the newest version that Debian
/// has installed.
#[expect(clippy::disallowed_methods, reason = "only tests start a server")]
pub fn find_binaries(programs: &[&str]) -> anyhow::Result<PathBuf> {
    let mut folders: Vec<PathBuf> = std::env::var_os("PATH")
        .map(|path| std::env::split_paths(&path).collect())
        .unwrap_or_default();
    let mut packaged: Vec<(u32, PathBuf)> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .collect();
    packaged.sort();
    folders.extend(packaged.into_iter().rev().map(|(_, folder)| folder));
    // Follow links, because a folder of the PATH may have a link to `initdb` alone.
    folders
        .into_iter()
        .filter_map(|folder| {
            folder
                .join("initdb")
                .canonicalize()
                .ok()?
                .parent()
                .map(Path::to_owned)
        })
        .find(|folder| programs.iter().all(|name| folder.join(name).exists()))
        .context(
            "cannot find the programs of a PostgreSQL server on the PATH or in /usr/lib/postgresql; \
             install them (Debian: apt install postgresql)",
        )
}
