//! `matins mcp`: connects an agent to the tools of Matins. Agents start it as an MCP server over standard input and output.

use crate::{
    environment,
    error::{CliError, Exit},
};

/// Serves the tools of Matins to the agent of a running turn, over MCP
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run; ignored, because the file that `MATINS_RUN_FILE` names has the run
    // Agents keep lists of tools by the command line of the server, and the list depends on the run.
    run: Option<String>,
}

pub(crate) fn run() -> Result<Exit, CliError> {
    let Some(run_file) = environment::run_file() else {
        return Err(CliError::message(
            Exit::Usage,
            "the variable `MATINS_RUN_FILE` is missing, which names the file of a running turn",
        )
        .with_hint("Matins passes this command to each agent: nobody needs to start it by hand"));
    };
    let (input, output) = (std::io::stdin(), std::io::stdout());
    server::connect_agent(&run_file, input, output).map_err(|source| {
        CliError::environment("cannot use the tools of Matins", source)
            .with_hint("each turn has tools of its own, which end with it")
    })?;
    Ok(Exit::Done)
}
