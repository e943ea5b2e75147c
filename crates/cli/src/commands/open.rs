//! `matins open`: opens the web page in a browser, signed in.

use std::process::{Command, Stdio};

use crate::{
    app::App,
    commands::sign_in,
    error::{CliError, Exit},
};

/// The program that opens an address in the browser of the user (xdg-utils).
const OPENER: &str = "xdg-open";

/// Open the web page in your browser, signed in
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) async fn run(app: &App) -> Result<Exit, CliError> {
    let link = sign_in::create(app).await?;
    let opened = Command::new(OPENER)
        .arg(link.url())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match opened {
        Ok(status) if status.success() => {
            app.output.aside("The page opens in your browser.");
        }
        // Without a desktop the link is of use all the same.
        _ => {
            app.output.aside(&format!(
                "No browser was opened, because `{OPENER}` failed. Open this link:"
            ));
            sign_in::print(app, &link)?;
        }
    }
    Ok(Exit::Done)
}
