//! `matins man`: prints or writes manual pages.

use std::{fs, path::PathBuf};

use serde_json::json;

use crate::{
    error::{CliError, Exit},
    output::Output,
};

/// Print the manual page, or write one for each command
///
/// To install the pages: matins man --out ~/.local/share/man/man1
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder for the pages of all commands; created if it does not exist
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    out: Option<PathBuf>,
}

/// Prints the manual page of the whole command line, `command`, or writes the pages of all its commands.
pub(crate) fn run(args: Args, command: clap::Command, output: Output) -> Result<Exit, CliError> {
    let Some(folder) = args.out else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command)
            .render(&mut page)
            .map_err(|source| CliError::environment("cannot render the manual page", source))?;
        let page = String::from_utf8_lossy(&page);
        if output.json {
            output.document(&json!({ "page": page }))?;
        } else {
            output.piece(&page)?;
        }
        return Ok(Exit::Done);
    };
    let failed = |source| {
        let message = format!("cannot write manual pages into {}", folder.display());
        CliError::environment(message, source)
    };
    fs::create_dir_all(&folder).map_err(failed)?;
    clap_mangen::generate_to(command, &folder).map_err(failed)?;
    if output.json {
        output.document(&json!({ "out": folder }))?;
    }
    output.aside(&format!(
        "Wrote the manual pages into {}.",
        folder.display()
    ));
    Ok(Exit::Done)
}
