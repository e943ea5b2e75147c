//! `matins completions`: what shells complete command lines with.

use clap::CommandFactory;
use clap_complete::Shell;
use serde_json::json;

use crate::{
    args::Cli,
    failure::{Exit, Failure},
    output::Output,
};

/// Print what a shell completes this program's command lines with
///
/// For bash: matins completions bash > ~/.local/share/bash-completion/completions/matins
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &Args, output: Output) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "matins", &mut script);
    let script = String::from_utf8_lossy(&script);
    if output.json {
        output.document(&json!({ "shell": args.shell.to_string(), "script": script }))?;
    } else {
        output.piece(&script)?;
    }
    Ok(Exit::Done)
}
