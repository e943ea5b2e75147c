//! What every command works with: a client of the API, and whom it asks.

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

/// What every command works with.
pub(crate) struct App {
    pub(crate) client: Client,
    pub(crate) whom: Whom,
    pub(crate) config: Config,
    pub(crate) output: Output,
    pub(crate) time: LocalTime,
}

/// Whom a command asks.
pub(crate) enum Whom {
    /// A server elsewhere.
    Elsewhere,
    /// Whoever serves the data folder.
    Server,
    /// The routes of this process, because nobody serves the data folder.
    Nobody(Box<Local>),
}

impl App {
    /// Finds out whom to ask: the server that is named or that somebody has signed in to, else whoever serves
    /// the data folder, else nobody but this process, which then opens the folder and the database.
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

    /// A command that works with what is on this machine, by routes that it has.
    pub(crate) fn over(local: Local, client: Client, config: &Config, output: Output) -> Self {
        Self {
            client,
            whom: Whom::Nobody(Box::new(local)),
            config: config.clone(),
            output,
            time: LocalTime::system(),
        }
    }

    /// Whether paths that are given are those of this machine.
    pub(crate) const fn is_here(&self) -> bool {
        !matches!(self.whom, Whom::Elsewhere)
    }

    /// Whether somebody else takes the turns that are asked for.
    pub(crate) const fn is_served(&self) -> bool {
        !matches!(self.whom, Whom::Nobody(_))
    }

    /// Lets go of what is open.
    pub(crate) async fn close(self) {
        if let Whom::Nobody(local) = self.whom {
            local.close().await;
        }
    }
}

/// The randomness of requests.
pub(crate) fn entropy() -> Arc<dyn Entropy> {
    Arc::new(OsEntropy)
}

/// The server elsewhere that is to be asked. A folder or a database that the command line names is asked in
/// place of one that somebody has signed in to.
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

/// Whoever serves the data folder, else this process.
async fn here(config: &Config) -> Result<(Client, Whom), Failure> {
    let folder = local::data_folder(config)?;
    // A folder that is not there has no socket.
    match server::ask(&absolute(&folder), entropy()).await {
        Asked::Serves(client) => return Ok((client, Whom::Server)),
        // It may be frozen; the database holds its promises all the same.
        Asked::Silent => {
            tracing::warn!(
                "whoever serves the folder gives no answer; this process does without it"
            );
        }
        Asked::Nobody => {}
    }
    let local = local::open(config).await?;
    let client = local.client_of(local.routes());
    Ok((client, Whom::Nobody(Box::new(local))))
}

fn absolute(path: &Path) -> std::path::PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
