//! `matins sign-in`: creates a link that signs a browser in.

use serde_json::json;
use server::DataFolder;

use crate::{
    app::{App, Target},
    data_folder,
    error::{CliError, Exit},
};

/// Print a link that signs a browser in once
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) async fn run(app: &App) -> Result<Exit, CliError> {
    let server = browser_address(app)?;
    let link = app.client.create_sign_in_link().await?;
    let Some(path) = &link.path else {
        let message = "the link was created, but was lost in transit";
        return Err(CliError::message(Exit::Failed, message).with_hint("run the command again"));
    };
    let url = format!("{server}{path}");
    if app.output.json {
        let document = json!({ "url": url, "expires_at": link.expires_at });
        app.output.document(&document)?;
        return Ok(Exit::Done);
    }
    app.output.line(&url)?;
    app.output.aside(&format!(
        "It works once, until {}.",
        app.time.time(link.expires_at)
    ));
    Ok(Exit::Done)
}

/// Returns the address at which a browser reaches the server.
fn browser_address(app: &App) -> Result<String, CliError> {
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
