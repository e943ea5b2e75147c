//! `matins runtime`: takes the turns of an instance in a folder, as a client of the API.

use std::{
    fs,
    net::IpAddr,
    path::{Path, PathBuf, absolute},
    sync::Arc,
};

use agent::GracePeriods;
use client::Client;
use config::Config;
use runtime::{RuntimeConfig, RuntimeError, RuntimeStop};
use server::{OsEntropy, SystemClock, SystemUptime};
use url::{Host, Url};

use crate::{
    app::entropy,
    environment,
    error::{CliError, Exit},
    output::{Output, excerpt},
    signals::Signals,
};

/// The folder of a runtime's own files, below its trigger folder.
const STATE_FOLDER: &str = ".matins";
/// The longest file of a token, in bytes.
const MAX_TOKEN_FILE_BYTES: u64 = 4096;

/// Watch the folder of an instance, and take the turns that servers deliver there as files
///
/// The runtime calls the API of the server with the token that `matins instance add` has written. It starts agents on this
/// machine, in their own folders or in the directories of their automations. It ends with SIGTERM or Ctrl-C: running turns
/// may finish until the deadline (`server.stop_deadline`), and a second signal requeues them at once. Files that wait stay in
/// the folder.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The trigger folder of the instance
    #[arg(long, value_name = "PATH")]
    folder: PathBuf,
    /// The file with the token of the instance [default: the variable `MATINS_TOKEN`]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The agents that may start here, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    agents: Option<Vec<String>>,
    /// The highest number of turns at once
    #[arg(long, value_name = "NUMBER", default_value = "4", value_parser = clap::value_parser!(u16).range(1..=256))]
    turns: u16,
    /// Send the token over HTTP to another machine, without TLS
    #[arg(long)]
    allow_http: bool,
}

pub(crate) async fn run(args: Args, config: &Config, output: Output) -> Result<Exit, CliError> {
    // 1. Read the arguments.
    let Some(address) = config.server.value.clone() else {
        let message = "there is no server";
        return Err(CliError::message(Exit::Usage, message)
            .with_hint("name its address with --server, such as https://matins.example.org"));
    };
    require_safe_address(&address, args.allow_http)?;
    let token = read_token(args.token_file.as_deref())?;
    let client = Client::with_address(&address, &token, entropy())?;
    let folder = absolute(&args.folder).map_err(|source| {
        CliError::environment(format!("cannot use {}", args.folder.display()), source)
    })?;
    // 2. Serve until a signal.
    server::raise_open_files_limit();
    let mut signals = Signals::listen()?;
    let watched = folder.display().to_string();
    let state = folder.join(STATE_FOLDER);
    let session_folders = state.join("sessions");
    let sockets = [environment::temporary_folder(), state];
    let runtime = RuntimeConfig {
        session_folders,
        folder,
        client,
        guard: server::guard_program(),
        environment: environment::agent_environment(),
        grace: GracePeriods::default(),
        machine_clock: Arc::new(SystemClock),
        uptime: Arc::new(SystemUptime),
        entropy: Arc::new(OsEntropy),
        hostname: server::hostname(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        turns: args.turns.into(),
        waiting_turns: usize::try_from(config.waiting_turns.value).unwrap_or(usize::MAX),
        allowed_agents: args.agents,
        stop_deadline: config.stop_deadline.value,
        listen_for_tools: Some(Box::new(move |worker, dead, tools| {
            server::listen_for_tools(&sockets, worker, dead, &tools)
        })),
        on_registered: Box::new(move |name| {
            if !output.json {
                let name = excerpt(name, 80);
                // A closed pipe must not stop the runtime.
                output
                    .line(&format!(
                        "Matins watches {watched} as {name} for {address}."
                    ))
                    .ok();
            }
        }),
    };
    let stop = RuntimeStop::default();
    let mut serving = std::pin::pin!(runtime::run(runtime, stop.clone()));
    loop {
        tokio::select! {
            ended = &mut serving => {
                ended.map_err(cli_error)?;
                return Ok(Exit::Done);
            }
            () = signals.next() => {
                if stop.stop.is_cancelled() {
                    stop.requeue.cancel();
                } else {
                    stop.stop.cancel();
                    let seconds = config.stop_deadline.value.as_secs();
                    output.note(&format!(
                        "Stopping: running turns have up to {seconds} s; a second signal requeues them at once."
                    ));
                }
            }
        }
    }
}

/// Refuses an address to which the token would go unencrypted over a network.
fn require_safe_address(address: &str, allow_http: bool) -> Result<(), CliError> {
    // The client refuses an address that it cannot parse.
    let Ok(url) = Url::parse(address) else {
        return Ok(());
    };
    let is_local = match url.host() {
        Some(Host::Ipv4(ip)) => IpAddr::V4(ip).is_loopback(),
        Some(Host::Ipv6(ip)) => IpAddr::V6(ip).is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    if url.scheme() != "http" || is_local || allow_http {
        return Ok(());
    }
    let message = format!("the address {address} of `--server` sends the token without encryption");
    Err(CliError::message(Exit::Usage, message)
        .with_hint("name an address that begins with https://, or add --allow-http in a network that you trust"))
}

/// Reads the token of the instance.
fn read_token(path: Option<&Path>) -> Result<String, CliError> {
    let Some(path) = path else {
        return environment::token().ok_or_else(|| {
            let message = "there is no token";
            CliError::message(Exit::Usage, message).with_hint(
                "name the file of `matins instance add` with --token-file, or set the variable MATINS_TOKEN",
            )
        });
    };
    let failed = |source| {
        let message = format!("cannot read the token in {}", path.display());
        CliError::environment(message, source)
    };
    let metadata = fs::metadata(path).map_err(failed)?;
    if metadata.len() > MAX_TOKEN_FILE_BYTES {
        let message = format!(
            "the file {} of `--token-file` holds no token",
            path.display()
        );
        return Err(CliError::message(Exit::Usage, message));
    }
    let text = fs::read_to_string(path).map_err(failed)?;
    Ok(text.trim().to_owned())
}

fn cli_error(error: RuntimeError) -> CliError {
    let (exit, hint) = match &error {
        RuntimeError::Locks(_) | RuntimeError::Leftovers(_) | RuntimeError::Tools(_) => {
            (Exit::Environment, None)
        }
        RuntimeError::Refused(_) => (
            Exit::NotAllowed,
            Some(
                "start the runtime with the newest token file of the instance (--token-file); \
                 `matins instance rotate-token NAME` writes another one",
            ),
        ),
        RuntimeError::InUse { .. } | RuntimeError::Replaced => {
            (Exit::Refused, Some("run one runtime for each instance"))
        }
    };
    let message = format!("{:#}", anyhow::Error::from(error));
    let refused = CliError::message(exit, message);
    match hint {
        Some(hint) => refused.with_hint(hint),
        None => refused,
    }
}
