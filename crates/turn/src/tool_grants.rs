//! The access of agents to the tools of Matins: one file for each running turn, which names the socket of this process and
//! holds the secret of the run.
//!
//! **Invariant:** the secret is in that file alone. Agents copy arguments, environments and headers of their MCP servers
//! into logs and process lists, so that these hold only the path of the file.

use std::{
    collections::{BTreeMap, HashMap},
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicU32},
};

use agent::McpServer;
use model::{RunId, access::secret::RunSecret, tools::CONNECTIONS_PER_RUN};
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// The name of the MCP server, which agents show beside the names of its tools.
pub const TOOL_SERVER_NAME: &str = "matins";
/// The variable that names the file of a run.
pub const RUN_FILE_VARIABLE: &str = "MATINS_RUN_FILE";
/// The command of the program that an agent starts to reach its tools.
pub const MCP_ARGUMENT: &str = "mcp";

/// The way of agents to the tools that this process serves.
#[derive(Debug, Clone)]
pub struct ToolGrants(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    program: PathBuf,
    socket: PathBuf,
    folder: PathBuf,
    runs: Mutex<HashMap<RunId, GrantedRun>>,
}

/// A run whose agent may use its tools.
#[derive(Debug, Clone)]
pub struct GrantedRun {
    /// The run.
    pub run: RunId,
    /// The counter of the calls of the run, over all of its connections.
    pub calls: Arc<AtomicU32>,
    /// The working directory of the turn.
    pub directory: PathBuf,
    /// The SHA-256 of the secret of the run.
    pub secret_hash: [u8; 32],
    connections: Arc<Semaphore>,
    ended: CancellationToken,
}

/// A connection of a run to its tools, which counts until it is dropped.
#[derive(Debug)]
pub struct GrantedConnection {
    /// Cancelled once the access of the run ends, and the connection must end with it.
    pub ended: CancellationToken,
    _permit: OwnedSemaphorePermit,
}

impl GrantedRun {
    /// Returns the access of the agent of a run, which works in `directory`.
    pub fn new(run: RunId, secret: &RunSecret, directory: PathBuf) -> Self {
        Self {
            run,
            calls: Arc::default(),
            directory,
            secret_hash: secret.hash(),
            connections: Arc::new(Semaphore::new(CONNECTIONS_PER_RUN)),
            ended: CancellationToken::new(),
        }
    }

    /// Opens a connection. Returns `None` if the run has [`CONNECTIONS_PER_RUN`] connections already.
    pub fn open_connection(&self) -> Option<GrantedConnection> {
        let permit = Arc::clone(&self.connections).try_acquire_owned().ok()?;
        Some(GrantedConnection {
            // A child, so that the end of one connection ends no other.
            ended: self.ended.child_token(),
            _permit: permit,
        })
    }
}

/// The content of the file of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunFile {
    /// The path of the socket at which the process that takes the turn serves the tools.
    pub socket: PathBuf,
    /// The run.
    pub run: RunId,
    /// The secret of the run.
    pub secret: String,
}

impl ToolGrants {
    /// Returns the way to tools that are served at `socket`. `program` is the absolute path of the program that agents
    /// start. `folder` holds the files of runs, and belongs to this process alone.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder cannot be created.
    pub fn new(program: PathBuf, socket: PathBuf, folder: PathBuf) -> io::Result<Self> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)?;
        Ok(Self(Arc::new(Inner {
            program,
            socket,
            folder,
            runs: Mutex::default(),
        })))
    }

    /// Returns the access of a run. Returns `None` if this process does not take the run's turn.
    pub fn granted(&self, run: RunId) -> Option<GrantedRun> {
        self.0.runs().get(&run).cloned()
    }

    /// Grants the agent of a run, which works in `directory`, the tools until the returned value is dropped.
    pub(crate) fn grant(
        &self,
        run: RunId,
        secret: &RunSecret,
        directory: &str,
    ) -> io::Result<ToolGrant> {
        let path = self.0.folder.join(run.to_string());
        let content = RunFile {
            socket: self.0.socket.clone(),
            run,
            secret: secret.reveal().to_owned(),
        };
        // A turn that this process has begun before may have left the file, if its end was not noticed.
        remove_if_exists(&path)?;
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        let grant = ToolGrant {
            inner: Arc::clone(&self.0),
            run,
            path,
        };
        file.write_all(&serde_json::to_vec(&content)?)?;
        let granted = GrantedRun::new(run, secret, directory.into());
        self.0.runs().insert(run, granted);
        Ok(grant)
    }
}

impl Inner {
    fn runs(&self) -> MutexGuard<'_, HashMap<RunId, GrantedRun>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        fs::remove_dir(&self.folder).ok();
    }
}

/// The access of the agent of one run.
#[derive(Debug)]
pub(crate) struct ToolGrant {
    inner: Arc<Inner>,
    run: RunId,
    path: PathBuf,
}

impl ToolGrant {
    /// Returns the MCP server that the agent starts.
    ///
    /// The run is an argument, so that no two turns share a server: the list of tools depends on the turn, and vibe 3.0.2
    /// keeps it for a day by the command, the arguments and the names of the variables.
    pub(crate) fn server(&self) -> McpServer {
        let path = self.path.to_string_lossy().into_owned();
        McpServer {
            name: TOOL_SERVER_NAME.into(),
            command: self.inner.program.clone(),
            args: vec![MCP_ARGUMENT.into(), self.run.to_string()],
            env: BTreeMap::from([(RUN_FILE_VARIABLE.into(), path)]),
        }
    }
}

impl Drop for ToolGrant {
    fn drop(&mut self) {
        // An agent's pipe may outlive the agent, for example below a process that has left its session.
        if let Some(granted) = self.inner.runs().remove(&self.run) {
            granted.ended.cancel();
        }
        if let Err(error) = remove_if_exists(&self.path) {
            // The secret in it is worthless: the run is over.
            tracing::warn!(run = %self.run, %error, "cannot remove the file of {}", self.run);
        }
    }
}

fn remove_if_exists(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use uuid::Uuid;

    use super::*;
    use crate::test_secret::test_secret;

    #[test]
    fn run_file_is_private_and_lives_as_long_as_its_grant() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("worker");
        let socket = parent.path().join("tools.sock");
        let grants = ToolGrants::new("/bin/matins".into(), socket, folder.clone()).unwrap();
        let (run, secret) = (RunId::from_uuid(Uuid::from_u128(1)), test_secret());
        assert!(grants.granted(run).is_none());

        // A file that an earlier turn has left is replaced.
        let path = folder.join(run.to_string());
        fs::write(&path, "old").unwrap();
        let grant = grants.grant(run, &secret, "/work").unwrap();
        let granted = grants.granted(run).unwrap();
        assert_eq!(granted.directory, Path::new("/work"));
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let file: RunFile = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!((file.run, file.secret.as_str()), (run, secret.reveal()));

        // Only the path leaves this process.
        let server = grant.server();
        assert_eq!(server.name, "matins");
        assert!(!format!("{server:?}").contains(secret.reveal()));
        assert_eq!(server.env[RUN_FILE_VARIABLE], path.to_str().unwrap());

        drop(grant);
        assert!(!path.exists() && grants.granted(run).is_none());
        drop(grants);
        assert!(!folder.exists());
    }

    #[test]
    fn servers_of_two_runs_differ_in_their_arguments() {
        let parent = tempfile::tempdir().unwrap();
        let socket = parent.path().join("tools.sock");
        let folder = parent.path().join("worker");
        let grants = ToolGrants::new("/bin/matins".into(), socket, folder).unwrap();
        let args = [1, 2].map(|id| {
            let run = RunId::from_uuid(Uuid::from_u128(id));
            let grant = grants.grant(run, &test_secret(), "/work").unwrap();
            let args = grant.server().args;
            assert_eq!(args, [MCP_ARGUMENT.to_owned(), run.to_string()]);
            args
        });
        assert_ne!(args[0], args[1]);
    }

    #[test]
    fn connections_of_run_are_limited_and_end_with_its_grant() {
        let parent = tempfile::tempdir().unwrap();
        let socket = parent.path().join("tools.sock");
        let folder = parent.path().join("worker");
        let grants = ToolGrants::new("/bin/matins".into(), socket, folder).unwrap();
        let [run, other] = [1, 2].map(|id| RunId::from_uuid(Uuid::from_u128(id)));
        let grant = grants.grant(run, &test_secret(), "/work").unwrap();
        let _other = grants.grant(other, &test_secret(), "/work").unwrap();
        let granted = grants.granted(run).unwrap();

        let mut open: Vec<_> = (0..CONNECTIONS_PER_RUN)
            .map(|_| granted.open_connection().unwrap())
            .collect();
        assert!(granted.open_connection().is_none());
        // Another run has connections of its own, and a closed connection makes room for the next.
        let of_other = grants.granted(other).unwrap().open_connection().unwrap();
        drop(open.pop());
        open.push(granted.open_connection().unwrap());
        assert!(
            !open
                .iter()
                .any(|connection| connection.ended.is_cancelled())
        );

        drop(grant);
        assert!(
            open.iter()
                .all(|connection| connection.ended.is_cancelled())
        );
        assert!(!of_other.ended.is_cancelled());
        // The access may end between the proof of the secret and the opening.
        drop(open);
        assert!(granted.open_connection().unwrap().ended.is_cancelled());
    }
}
