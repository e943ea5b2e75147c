//! The context of a command: a client of the API, and the API that it is connected to.

use std::{path::Path, sync::Arc};

use client::Client;
use config::{Config, Origin};
use model::Entropy;
use server::{Asked, Local, OsEntropy};

use crate::{
    environment,
    failure::{Exit, Failure},
    local,
    login::{self, Login},
    output::{LocalTime, Output},
};

/// The context of a command.
pub(crate) struct App {
    pub(crate) client: Client,
    pub(crate) whom: Whom,
    pub(crate) config: Config,
    pub(crate) output: Output,
    pub(crate) time: LocalTime,
}

/// The API that a command is connected to.
pub(crate) enum Whom {
    /// A remote server, by its network address.
    Elsewhere,
    /// The server of the data folder, by its private socket.
    Server,
    /// The routes of this process, because the data folder has no server.
    Nobody(Box<Local>),
}

impl App {
    /// Connects to the API: to the remote server that is configured or stored by `matins login`, otherwise to the
    /// server of the data folder. If that folder has no server, opens the folder and the database in this process.
    pub(crate) async fn find(config: &Config, output: Output) -> Result<Self, Failure> {
        let (client, whom) = match elsewhere(config)? {
            Some(Login { server, token }) => {
                let client = Client::at(&server, &token, entropy())?;
                (client, Whom::Elsewhere)
            }
            None => here(config).await?,
        };
        Ok(Self {
            client,
            whom,
            config: config.clone(),
            output,
            time: LocalTime::system(),
        })
    }

    /// Returns the context of a command that uses an opened data folder through a given client.
    pub(crate) fn over(local: Local, client: Client, config: &Config, output: Output) -> Self {
        Self {
            client,
            whom: Whom::Nobody(Box::new(local)),
            config: config.clone(),
            output,
            time: LocalTime::system(),
        }
    }

    /// `true` if the API resolves paths on this machine.
    pub(crate) const fn resolves_local_paths(&self) -> bool {
        !matches!(self.whom, Whom::Elsewhere)
    }

    /// `true` if a server takes the turns that the command requests.
    pub(crate) const fn has_server(&self) -> bool {
        !matches!(self.whom, Whom::Nobody(_))
    }

    /// Closes the database if this process opened it.
    pub(crate) async fn close(self) {
        if let Whom::Nobody(local) = self.whom {
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
fn elsewhere(config: &Config) -> Result<Option<Login>, Failure> {
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
        Some(login) if login.is_of(&server) => Ok(Some(login)),
        _ => {
            let message = format!("ask {server}: there is no token for it");
            Err(
                Failure::message(Exit::NotAllowed, message).with_hint(format!(
                    "`matins login {server}` stores one; {} holds one for a single command",
                    config::TOKEN
                )),
            )
        }
    }
}

/// Connects to the server of the data folder, or opens the folder in this process if there is none.
async fn here(config: &Config) -> Result<(Client, Whom), Failure> {
    let folder = local::data_folder(config)?;
    // A missing folder has no socket, so `ask` finds no server there.
    match server::ask(&absolute(&folder), entropy()).await {
        Asked::Serves(client) => return Ok((client, Whom::Server)),
        // The server may hang. It is safe to continue without it, because the database enforces every invariant
        // between processes.
        Asked::Silent => {
            tracing::warn!(
                "whoever serves the folder gives no answer; this process does without it"
            );
        }
        Asked::Nobody => {}
    }
    let local = local::open(config).await?;
    let client = local.in_process_client(local.routes());
    Ok((client, Whom::Nobody(Box::new(local))))
}

fn absolute(path: &Path) -> std::path::PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
