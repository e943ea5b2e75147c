//! The socket at which a process serves the tools of the agents whose turns it takes, `tools-<worker>.sock`, and the pipe of
//! an agent to it.
//!
//! A connection begins with one line of JSON, the run and its secret ([`Hello`]); then the peer speaks MCP. The secret
//! is what counts. That the peer has the same user and runs this program is a second condition: it keeps out programs that
//! read the file of a run by accident, but no program that means harm. A run has at most [`CONNECTIONS_PER_RUN`]
//! connections, and they end with its turn.

use std::{
    fs::{self, Metadata, Permissions},
    io::{self, Read as _, Write as _},
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _},
        net::UnixStream as BlockingStream,
    },
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use client::SocketAddress;
use model::{RunId, WorkerId, access::secret::RunSecret, tools::CONNECTIONS_PER_RUN};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{UnixListener, UnixStream},
    sync::Semaphore,
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_util::sync::{CancellationToken, DropGuard};
use turn::{
    AgentConnection, GrantedConnection, ListeningTools, RUN_OVER, RunFile, ServeConnection,
    ToolGrants, ToolServer,
};

/// The longest first line of a connection, in bytes.
const MAX_HELLO_BYTES: u64 = 1024;
/// The time that a peer has for its first line.
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);
/// The highest number of connections at a time, over all runs.
const MAX_CONNECTIONS: usize = 1024;
/// The pause after an error of `accept`. The usual cause is that the process has too many open files.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);
/// The longest file of a run, in bytes.
const MAX_RUN_FILE_BYTES: u64 = 64 * 1024;

/// The first line of a connection.
#[derive(Debug, Serialize, Deserialize)]
struct Hello {
    run: RunId,
    secret: String,
}

/// A socket that serves tools until it is dropped.
#[derive(Debug)]
pub(crate) struct ToolsSocket {
    path: PathBuf,
    _stop: DropGuard,
}

impl ToolsSocket {
    /// Listens in a folder of this process, such as a data folder. Returns the socket and the way to it that agents get.
    pub(crate) fn listen(
        folder: &Path,
        worker: &WorkerId,
        server: Arc<dyn ToolServer>,
    ) -> io::Result<(Self, ToolGrants)> {
        let name = file_name(worker);
        let path = folder.join(format!("tools-{name}.sock"));
        // Bind a draft name and restrict its mode before the rename, so that no other user can connect in between.
        let draft = path.with_extension("draft");
        let listener = UnixListener::bind(SocketAddress::for_path(&draft)?.path())?;
        fs::set_permissions(&draft, Permissions::from_mode(0o600))?;
        fs::rename(&draft, &path)?;
        let program = std::env::current_exe()?;
        let runs = folder.join("runs").join(name);
        let grants = ToolGrants::new(program.clone(), path.clone(), runs)?;
        let stop = CancellationToken::new();
        let acceptor = Acceptor {
            server,
            grants: grants.clone(),
            program,
        };
        tokio::spawn(acceptor.accept_all(listener, stop.clone()));
        let socket = Self {
            path,
            _stop: stop.drop_guard(),
        };
        Ok((socket, grants))
    }
}

impl Drop for ToolsSocket {
    fn drop(&mut self) {
        fs::remove_file(&self.path).ok();
    }
}

/// Opens the socket at which a runtime serves tools, in a private folder below the first of `parents` that has room for it.
/// Removes the folders that dead workers of the runtime's folder have left there.
///
/// The folder of the runtime itself is no place for the socket: it may vanish and return, and it may be on a file system
/// without sockets.
///
/// # Errors
///
/// Returns the error of the last parent if none has room.
pub fn listen_for_tools(
    parents: &[PathBuf],
    worker: &WorkerId,
    dead_workers: &[WorkerId],
    server: &Arc<dyn ToolServer>,
) -> io::Result<ListeningTools> {
    let prefix = |worker: &WorkerId| format!("matins-tools-{}-", file_name(worker));
    let dead: Vec<_> = dead_workers.iter().map(prefix).collect();
    let mut failed = io::Error::from(io::ErrorKind::NotFound);
    for parent in parents {
        for name in names(parent) {
            if dead.iter().any(|prefix| name.starts_with(prefix)) {
                // It fails for a folder of another user, which only looks the same.
                fs::remove_dir_all(parent.join(name)).ok();
            }
        }
        // The folder is open to its owner alone, whatever the umask.
        let folder = tempfile::Builder::new()
            .prefix(&prefix(worker))
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(parent);
        let listening = folder.and_then(|folder| {
            let (socket, grants) = ToolsSocket::listen(folder.path(), worker, Arc::clone(server))?;
            Ok(ListeningTools {
                grants,
                socket: Box::new((socket, folder)),
            })
        });
        match listening {
            Ok(listening) => return Ok(listening),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// Returns the names in a folder. Returns none if the folder cannot be read.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.collect()
}

/// Removes the leftovers of dead workers in a data folder: their sockets, and the files of their runs, whose secrets are
/// worthless. `is_dead` tells by the name of a worker's files whether the worker is dead.
pub(crate) fn remove_leftovers(folder: &Path, is_dead: impl Fn(&str) -> bool) {
    for name in names(folder) {
        let worker = name
            .strip_prefix("tools-")
            .and_then(|name| name.strip_suffix(".sock").or(name.strip_suffix(".draft")));
        if worker.is_some_and(&is_dead) {
            fs::remove_file(folder.join(name)).ok();
        }
    }
    let runs = folder.join("runs");
    for name in names(&runs) {
        if is_dead(&name) {
            fs::remove_dir_all(runs.join(name)).ok();
        }
    }
}

/// Returns the name of a worker in file names. Worker IDs contain the host's name, which could otherwise lead out of the
/// folder.
fn file_name(worker: &WorkerId) -> String {
    let plain = |letter: char| match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '.' => letter,
        _ => '_',
    };
    worker.as_str().chars().map(plain).collect()
}

struct Acceptor {
    server: Arc<dyn ToolServer>,
    grants: ToolGrants,
    program: PathBuf,
}

impl Acceptor {
    async fn accept_all(self, listener: UnixListener, stop: CancellationToken) {
        let this = Arc::new(self);
        let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        // Dropping the set ends all connections.
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => break,
                accepted = listener.accept() => accepted,
                Some(_) = connections.join_next() => continue,
            };
            match accepted {
                Ok((stream, _)) => {
                    // Refuse at once instead of waiting for a permit, because agents retry and people wait.
                    let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else {
                        tracing::warn!("too many connections to the tools");
                        // A new socket takes so few bytes at once, or its peer is gone.
                        let refused = b"503: too many agents use their tools here\n";
                        stream.try_write(refused).ok();
                        continue;
                    };
                    let this = Arc::clone(&this);
                    connections.spawn(async move {
                        this.serve(stream).await;
                        drop(permit);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection to the tools");
                    sleep(ACCEPT_RETRY_DELAY).await;
                }
            }
        }
    }

    async fn serve(&self, stream: UnixStream) {
        let peer = stream.peer_cred().ok();
        let (reader, mut writer) = stream.into_split();
        let process = peer.and_then(|peer| peer.pid());
        let is_own_user = peer.is_some_and(|peer| peer.uid() == rustix::process::getuid().as_raw());
        if !is_own_user || !process.is_some_and(|process| self.runs_this_program(process)) {
            tracing::warn!(
                process,
                "refused another program at the socket of the tools"
            );
            let refused = b"403: the tools are for `matins mcp` of the same user and program\n";
            writer.write_all(refused).await.ok();
            return;
        }
        let mut reader = BufReader::new(reader);
        let hello = timeout(HELLO_TIMEOUT, read_hello(&mut reader)).await;
        let Ok(Ok(hello)) = hello else {
            tracing::debug!("a connection to the tools began without its run");
            return;
        };
        let refused = match self.open(&hello).await {
            // The connection counts until it has been served.
            Ok((serve, connection)) => {
                let ended = connection.ended.clone();
                let agent = AgentConnection {
                    reader: Box::new(reader),
                    writer: Box::new(writer),
                };
                return serve(agent, ended).await;
            }
            Err(refused) => refused,
        };
        tracing::warn!(run = %hello.run, refused, "refused an agent at the socket of the tools");
        // The pipe shows the line to the agent.
        let line = format!("{refused}\n");
        writer.write_all(line.as_bytes()).await.ok();
    }

    /// Opens a connection to the tools of the run that its first line names. The error is a text for the agent.
    async fn open(&self, hello: &Hello) -> Result<(ServeConnection, GrantedConnection), String> {
        let run = self.grants.granted(hello.run).ok_or(RUN_OVER)?;
        let secret = RunSecret::parse(&hello.secret).map_err(|error| format!("401: {error}"))?;
        let serve = self.server.open(run.clone(), secret).await?;
        // Count the connection after the proof, so that a wrong secret takes no connection from the run.
        let connection = run.open_connection().ok_or_else(|| {
            format!(
                "429 too_many_connections: the turn has {CONNECTIONS_PER_RUN} connections to its tools already; close \
                 one of them first"
            )
        })?;
        Ok((serve, connection))
    }

    /// Returns `true` if a process runs the same file as this one, or the file that has replaced it since.
    fn runs_this_program(&self, process: i32) -> bool {
        let Ok(its) = fs::metadata(format!("/proc/{process}/exe")) else {
            return false;
        };
        let is_same = |own: io::Result<Metadata>| {
            own.is_ok_and(|own| (own.dev(), own.ino()) == (its.dev(), its.ino()))
        };
        is_same(fs::metadata("/proc/self/exe")) || is_same(fs::metadata(&self.program))
    }
}

async fn read_hello(reader: &mut BufReader<tokio::net::unix::OwnedReadHalf>) -> io::Result<Hello> {
    let mut line = Vec::new();
    reader
        .take(MAX_HELLO_BYTES)
        .read_until(b'\n', &mut line)
        .await?;
    Ok(serde_json::from_slice(&line)?)
}

/// Connects an agent to its tools: copies between the agent's pipes and the socket that the file of a run names, until one
/// side closes.
///
/// # Errors
///
/// Returns an error if the file cannot be read, if nobody listens at the socket, or if the run is over.
pub fn connect_agent(
    run_file: &Path,
    mut input: impl io::Read + Send + 'static,
    mut output: impl io::Write,
) -> io::Result<()> {
    let file = read_run_file(run_file)?;
    let address = SocketAddress::for_path(&file.socket)?;
    let mut stream = BlockingStream::connect(address.path())?;
    let mut hello = serde_json::to_vec(&Hello {
        run: file.run,
        secret: file.secret,
    })?;
    hello.push(b'\n');
    stream.write_all(&hello)?;
    let mut to_server = stream.try_clone()?;
    thread::spawn(move || {
        // The server ends the connection once it has answered everything.
        io::copy(&mut input, &mut to_server).ok();
        to_server.shutdown(std::net::Shutdown::Write).ok();
    });
    let mut buffer = [0; 16 * 1024];
    let mut is_first = true;
    loop {
        let read = stream.read(&mut buffer)?;
        let bytes = buffer.get(..read).unwrap_or_default();
        if bytes.is_empty() {
            return Ok(());
        }
        // A refusal is no JSON, and must not reach the agent as a message.
        if is_first && bytes.first() != Some(&b'{') {
            let text = String::from_utf8_lossy(bytes).trim().to_owned();
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
        is_first = false;
        output.write_all(bytes)?;
        output.flush()?;
    }
}

fn read_run_file(path: &Path) -> io::Result<RunFile> {
    let mut text = Vec::new();
    fs::File::open(path)?
        .take(MAX_RUN_FILE_BYTES)
        .read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}
