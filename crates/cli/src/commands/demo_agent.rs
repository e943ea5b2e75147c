//! `matins demo-agent`: runs the demonstration agent, in a process that Matins starts.

use std::{path::PathBuf, time::Duration};

use crate::error::{CliError, Exit};

/// A small ACP agent without a language model: it counts its turns and repeats the earlier requests
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder of its sessions; created if it does not exist
    #[arg(long, value_name = "FOLDER")]
    home: PathBuf,
    /// The pause between two updates of a turn, in milliseconds
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 20)]
    pace: u64,
}

pub(crate) fn run(args: Args) -> Result<Exit, CliError> {
    demo_agent::run(args.home, Duration::from_millis(args.pace))
        .map_err(|error| CliError::new(Exit::Failed, error))?;
    Ok(Exit::Done)
}
