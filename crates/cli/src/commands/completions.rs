//! `matins completions`: prints the completion script of a shell.

use clap_complete::Shell;
use serde_json::json;

use crate::{
    error::{CliError, Exit},
    output::Output,
};

/// Print the completion script of a shell
///
/// For bash: matins completions bash > ~/.local/share/bash-completion/completions/matins
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

/// Prints the completion script of a shell for the whole command line, `command`.
pub(crate) fn run(
    args: &Args,
    mut command: clap::Command,
    output: Output,
) -> Result<Exit, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "matins", &mut script);
    let script = String::from_utf8_lossy(&script);
    if output.json {
        output.document(&json!({ "shell": args.shell.to_string(), "script": script }))?;
    } else {
        output.piece(&script)?;
    }
    Ok(Exit::Done)
}
