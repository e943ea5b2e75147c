//! `matins sign-in`: creates a link that signs a browser in.

use model::Timestamp;
use serde::Serialize;
use server::DataFolder;

use crate::{
    app::{App, Target},
    data_folder,
    error::{CliError, Exit},
};

/// Print a link that signs a browser in once
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// A link that signs a browser in once.
#[derive(Serialize)]
pub(crate) struct SignInUrl {
    url: String,
    expires_at: Timestamp,
}

pub(crate) async fn run(app: &App) -> Result<Exit, CliError> {
    print(app, &create(app).await?)?;
    Ok(Exit::Done)
}

/// Creates a link for the server of this command.
pub(crate) async fn create(app: &App) -> Result<SignInUrl, CliError> {
    create_at(app, &network_address(app)?).await
}

/// Creates a link for a server that browsers reach at an address.
pub(crate) async fn create_at(app: &App, server: &str) -> Result<SignInUrl, CliError> {
    let link = app.client.create_sign_in_link().await?;
    let Some(path) = &link.path else {
        let message = "the link was created, but was lost in transit";
        return Err(CliError::message(Exit::Failed, message).with_hint("run the command again"));
    };
    Ok(SignInUrl {
        url: format!("{server}{path}"),
        expires_at: link.expires_at,
    })
}

impl SignInUrl {
    /// Returns the address, which contains the secret of the link.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Says how long the link works.
    pub(crate) fn note(&self, app: &App) -> String {
        format!("It works once, until {}.", app.time.time(self.expires_at))
    }
}

pub(crate) fn print(app: &App, link: &SignInUrl) -> Result<(), CliError> {
    if app.output.json {
        return Ok(app.output.document(link)?);
    }
    app.output.line(&link.url)?;
    app.output.aside(&link.note(app));
    Ok(())
}

/// Returns the address at which browsers and runtimes reach the server.
pub(crate) fn network_address(app: &App) -> Result<String, CliError> {
    let refused = |message: &str, hint: &str| {
        Err(CliError::message(Exit::Refused, message.to_owned()).with_hint(hint))
    };
    match &app.target {
        Target::Remote => Ok(app.client.server_name().to_owned()),
        Target::InProcess(_) => {
            let path = data_folder::data_folder_path(&app.config)?;
            refused(
                &format!("the data folder {} has no server", path.display()),
                "start `matins serve`",
            )
        }
        Target::Local => {
            let path = data_folder::data_folder_path(&app.config)?;
            let folder = DataFolder::open_existing(&path).map_err(|source| {
                CliError::environment(
                    format!("cannot use the data folder {}", path.display()),
                    source,
                )
            })?;
            match folder.read_address() {
                Some(address) => Ok(address),
                None => refused(
                    "the server of this data folder listens at no network address",
                    "start `matins serve` with --listen or server.listen",
                ),
            }
        }
    }
}
