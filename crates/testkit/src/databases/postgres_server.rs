//! One private PostgreSQL server for all test processes of a user.
//!
//! Everything lies in a folder under the system's temporary one, not under `target`: a socket's
//! path must be short, and where tests run as root the server runs as another user, who must be
//! able to get there.
//!
//! Two locks order its life. `start` is held while somebody looks whether the server runs and
//! starts it. `users` is shared by every process that uses the server, until the process ends
//! however it ends; a watcher stops the server once it gets that lock for itself.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    os::unix::{
        fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _, chown},
        net::UnixStream,
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, bail, ensure};

/// Who the tests are: no superuser, and held by row-level security.
pub(super) const ROLE: &str = "matins";
/// Who makes and drops databases.
pub(super) const SUPERUSER: &str = "postgres";

/// The server never listens on TCP; the number is only part of the socket's name.
const SOCKET_PORT: &str = "5432";
/// Durability is for the living: this data is thrown away.
const SERVER_SETTINGS: &[&str] = &[
    "listen_addresses=",
    "fsync=off",
    "full_page_writes=off",
    "synchronous_commit=off",
    "wal_level=minimal",
    "max_wal_senders=0",
    "max_connections=300",
    "shared_buffers=64MB",
];
/// What a server and its databases are made with.
const REQUIRED_PROGRAMS: &[&str] = &[
    "postgres",
    "initdb",
    "pg_ctl",
    "createdb",
    "dropdb",
    "createuser",
];
/// What stops the server: waits until nobody uses it, then some seconds more.
const WATCHER_SCRIPT: &str = "while flock -x \"$1\" true; do sleep 10; \
     flock -xn -E 99 \"$1\" \"$2\" -D \"$3\" -m immediate stop; test $? -eq 99 || exit; done";

/// The running server, and this process's share in it.
#[derive(Debug)]
pub(super) struct Server {
    binaries: PathBuf,
    /// Whom the server's programs run as, where it cannot be this user.
    account: Option<Account>,
    folder: PathBuf,
    _users_lock: File,
}

impl Server {
    /// Uses the server; starts it first if it does not run.
    pub(super) fn join() -> anyhow::Result<Self> {
        let binaries = find_binaries(REQUIRED_PROGRAMS)?;
        let account = if rustix::process::geteuid().is_root() {
            Some(Account::unprivileged()?)
        } else {
            None
        };
        let folder = create_folder(account)?;
        let start = File::create(folder.join("start.lock")).context("create a lock file")?;
        start.lock().context("lock the start of the test server")?;
        let users = folder.join("users.lock");
        let share = File::create(&users).context("create a lock file")?;
        // Waits while the watcher stops the server.
        share.lock_shared().context("share the test server")?;
        let server = Self {
            binaries,
            account,
            folder,
            _users_lock: share,
        };
        if !server.is_ready() {
            server
                .start()
                .context("start a PostgreSQL server for tests")?;
            server
                .start_watcher(&users)
                .context("start the watcher of the test server")?;
            server.mark_done("ready")?;
        }
        Ok(server)
    }

    /// The folder for locks, shared by all processes.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of the server's socket.
    pub(super) fn socket(&self) -> PathBuf {
        self.folder.join("server")
    }

    /// Whom the server's programs run as, where that is another user.
    pub(super) fn account(&self) -> Option<(u32, u32)> {
        self.account.map(|account| (account.uid, account.gid))
    }

    fn data(&self) -> PathBuf {
        self.socket().join("data")
    }

    /// Makes a database of the unprivileged role, as a copy of another.
    pub(super) fn create_database(&self, name: &str, template: &str) -> anyhow::Result<()> {
        self.run_client_program("createdb", &["-O", ROLE, "-T", template, name])
    }

    /// Drops a database with whoever is connected to it, if it is there.
    pub(super) fn drop_database(&self, name: &str) -> anyhow::Result<()> {
        self.run_client_program("dropdb", &["--if-exists", "--force", name])
    }

    /// Whether the server answers and somebody finished making it.
    fn is_ready(&self) -> bool {
        let socket = self.socket().join(format!(".s.PGSQL.{SOCKET_PORT}"));
        self.is_marked_done("ready") && UnixStream::connect(socket).is_ok()
    }

    /// Whether something was finished on this run of the server.
    pub(super) fn is_marked_done(&self, what: &str) -> bool {
        self.data().join(what).exists()
    }

    /// Notes that something is finished. The note lies in the data and goes with it.
    pub(super) fn mark_done(&self, what: &str) -> anyhow::Result<()> {
        fs::write(self.data().join(what), "").context("leave a note in the server's data")
    }

    /// Starts on a fresh copy of an initialized data folder, so that no crash outlives a run.
    fn start(&self) -> anyhow::Result<()> {
        let (home, data) = (self.socket(), self.data());
        if data.exists() {
            // Of a server that was killed, or is out of reach.
            let _ = self.run(
                "pg_ctl",
                &["-D", path_text(&data)?, "-m", "immediate", "stop"],
            );
            fs::remove_dir_all(&data).context("remove the data of a former run")?;
        }
        let version = self.run("postgres", &["--version"])?;
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
            fs::rename(&unfinished, &pristine).context("keep an initialized data folder")?;
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
            .with_context(|| format!("see {}", log.display()))?;
        self.run_client_program("createuser", &["--no-superuser", "--no-createdb", ROLE])
    }

    /// Leaves a process behind that stops the server when nobody uses it any more.
    fn start_watcher(&self, users: &Path) -> anyhow::Result<()> {
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
            .context("run sh")?;
        Ok(())
    }

    fn run_client_program(&self, program: &str, arguments: &[&str]) -> anyhow::Result<()> {
        let socket = self.socket();
        let to = [
            "-h",
            path_text(&socket)?,
            "-p",
            SOCKET_PORT,
            "-U",
            SUPERUSER,
        ];
        self.run(program, &[&to[..], arguments].concat())?;
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

/// Runs a program to its end and gives what it wrote.
fn run(command: &mut Command) -> anyhow::Result<String> {
    let name = Path::new(command.get_program()).display().to_string();
    let output = command.output().with_context(|| format!("run {name}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("run {name}: {}: {}", output.status, said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn path_text(path: &Path) -> anyhow::Result<&str> {
    path.to_str()
        .context("the temporary folder's path is not UTF-8")
}

/// A user of the system who is not root: PostgreSQL refuses to run as root.
#[derive(Debug, Clone, Copy)]
struct Account {
    uid: u32,
    gid: u32,
}

impl Account {
    fn unprivileged() -> anyhow::Result<Self> {
        let accounts = fs::read_to_string("/etc/passwd").context("read /etc/passwd")?;
        ["postgres", "nobody"]
            .into_iter()
            .find_map(|name| Self::find(&accounts, name))
            .context("find a user for the test server: neither `postgres` nor `nobody` exists")
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

/// Makes the folder of this user, with the server's folder in it.
fn create_folder(account: Option<Account>) -> anyhow::Result<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let folder = std::env::temp_dir().join(format!("matins-testkit-{user}"));
    let server = folder.join("server");
    // Others may pass through, not look: the server's own user must get to its folder.
    for (path, mode) in [(&folder, 0o711), (&server, 0o700)] {
        match DirBuilder::new().mode(mode).create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(error).with_context(|| format!("create {}", path.display()));
            }
            _ => {}
        }
    }
    let facts = fs::symlink_metadata(&folder).context("look at the test server's folder")?;
    ensure!(
        facts.is_dir() && facts.uid() == user,
        "use {}: it belongs to somebody else; remove it",
        folder.display()
    );
    if let Some(account) = account {
        chown(&server, Some(account.uid), Some(account.gid))
            .context("give the server its folder")?;
    }
    // The watcher may run as that user too, and opens the lock to read.
    let users = OpenOptions::new()
        .append(true)
        .create(true)
        .open(folder.join("users.lock"))
        .context("create a lock file")?;
    let readable = fs::Permissions::from_mode(0o644);
    users
        .set_permissions(readable)
        .context("create a lock file")?;
    Ok(folder)
}

/// Finds the folder with a server's programs, all of those that are named: on the `PATH`, else Debian's newest.
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
    // What is on the PATH may be a link to one program alone.
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
            "find the programs of a PostgreSQL server on the PATH or in /usr/lib/postgresql: \
             install them (Debian: apt install postgresql)",
        )
}
