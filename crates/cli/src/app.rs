//! The context of a command: a client of the API, and the API that it is connected to.

use std::{path::Path, sync::Arc};

use client::Client;
use config::{Config, Origin};
use model::Entropy;
use server::{LocalInstance, OsEntropy, ServerContact};

use crate::{
    data_folder, environment,
    error::{CliError, Exit},
    login::{self, Login},
    output::{LocalTime, Output},
};

/// The context of a command.
pub(crate) struct App {
    pub(crate) client: Client,
    pub(crate) target: Target,
    pub(crate) config: Config,
    pub(crate) output: Output,
    pub(crate) time: LocalTime,
}

/// The API that a command is connected to.
pub(crate) enum Target {
    /// A remote server, by its network address.
    Remote,
    /// The server of the data folder, by its private socket.
    Local,
    /// The routes of this process, because the data folder has no server.
    InProcess(Box<LocalInstance>),
}

impl App {
    /// Connects to the API: to the remote server that is configured or stored by `matins login`, otherwise to the
    /// server of the data folder. If that folder has no server, opens the folder and the database in this process.
    pub(crate) async fn connect(config: &Config, output: Output) -> Result<Self, CliError> {
        let (client, target) = match remote_login(config)? {
            Some(Login { server, token }) => {
                let client = Client::with_address(&server, &token, entropy())?;
                (client, Target::Remote)
            }
            None => connect_locally(config).await?,
        };
        Ok(Self {
            client,
            target,
            config: config.clone(),
            output,
            time: LocalTime::system(),
        })
    }

    /// Returns the context of a command that uses an opened data folder through a given client.
    pub(crate) fn with_client(
        local: LocalInstance,
        client: Client,
        config: &Config,
        output: Output,
    ) -> Self {
        Self {
            client,
            target: Target::InProcess(Box::new(local)),
            config: config.clone(),
            output,
            time: LocalTime::system(),
        }
    }

    /// `true` if the API resolves paths on this machine.
    pub(crate) const fn resolves_local_paths(&self) -> bool {
        !matches!(self.target, Target::Remote)
    }

    /// `true` if a server takes the turns that the command requests.
    pub(crate) const fn has_server(&self) -> bool {
        !matches!(self.target, Target::InProcess(_))
    }

    /// Closes the database if this process opened it.
    pub(crate) async fn close(self) {
        if let Target::InProcess(local) = self.target {
            local.close().await;
        }
    }
}

/// Returns the source of randomness for requests.
pub(crate) fn entropy() -> Arc<dyn Entropy> {
    Arc::new(OsEntropy)
}

/// Returns the remote server to connect to. Returns `None` if the command line names a data folder or a database but
/// no server: these flags take precedence over a stored login.
fn remote_login(config: &Config) -> Result<Option<Login>, CliError> {
    let by_flag = |origin: &Origin| matches!(origin, Origin::Flag(_));
    let names_folder = by_flag(&config.data.origin) || by_flag(&config.database.origin);
    if names_folder && !by_flag(&config.server.origin) {
        return Ok(None);
    }
    let path = login::path();
    let Some(server) = config.server.value.clone() else {
        return path.map_or(Ok(None), |path| login::read(&path));
    };
    if let Some(token) = environment::token() {
        return Ok(Some(Login { server, token }));
    }
    let stored = path.map_or(Ok(None), |path| login::read(&path))?;
    match stored {
        Some(login) if login.is_for_server(&server) => Ok(Some(login)),
        _ => {
            let message = format!("there is no token for the server {server}");
            Err(
                CliError::message(Exit::NotAllowed, message).with_hint(format!(
                    "`matins login {server}` stores one; the variable {} passes one to a single command",
                    config::TOKEN_VARIABLE
                )),
            )
        }
    }
}

/// Connects to the server of the data folder, or opens the folder in this process if there is none.
async fn connect_locally(config: &Config) -> Result<(Client, Target), CliError> {
    let folder = data_folder::data_folder_path(config)?;
    // A missing folder has no socket, so this finds no server there.
    match server::contact_server(&canonical_path(&folder), entropy()).await {
        ServerContact::Connected(client) => return Ok((client, Target::Local)),
        // The server may hang. It is safe to continue without it, because the database enforces every invariant
        // between processes.
        ServerContact::Unresponsive => {
            tracing::warn!(
                "the server of the data folder does not answer; this process continues without it"
            );
        }
        ServerContact::Absent => {}
    }
    let local = data_folder::open(config).await?;
    let client = local.in_process_client(local.routes());
    Ok((client, Target::InProcess(Box::new(local))))
}

fn canonical_path(path: &Path) -> std::path::PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
