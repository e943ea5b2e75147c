//! A small agent without any model, to try Matins before a real agent is set up.
//!
//! It speaks ACP version 1 on standard input and output, keeps its sessions as files under
//! `--home`, and answers with what it was asked before. It behaves as a good agent does: it offers
//! resume, load, list and close, holds a lock on each open session, and refuses to restore a
//! session in another working directory. MCP servers are accepted and not used.

mod agent;
mod disk;
mod server;
mod session;

use std::{path::PathBuf, time::Duration};

use anyhow::Context;

/// A small ACP agent without any model: it counts its turns and tells what it was asked before.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder of its sessions; made if it is not there.
    #[arg(long, value_name = "FOLDER")]
    home: PathBuf,
    /// The pause between two updates of a turn, in milliseconds.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 20)]
    pace: u64,
}

/// Serves one client on standard input and output until it hangs up.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let home = disk::Home::open(args.home)?;
    let agent = agent::DemoAgent::new(home, Duration::from_millis(args.pace));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .context("failed to start the runtime")?;
    let served = runtime.block_on(server::serve(agent));
    // A read of standard input that is still under way must not keep the process.
    runtime.shutdown_background();
    served.context("failed to serve the client")
}
