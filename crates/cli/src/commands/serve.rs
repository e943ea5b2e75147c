//! `matins serve`: runs the daemon and serves the API.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use agent::GracePeriods;
use api_types::{AutomationView, RunFilterRequest};
use client::{Client, PageParams, RunFilter};
use config::Config;
use model::run::RunStatus;
use serde_json::json;
use server::{DataFolder, LocalInstance, NetworkAccess, Server};
use store::Scope;
use tokio::{net::TcpListener, time::timeout};

use super::{first_token, sign_in};
use crate::{
    app::App,
    data_folder::{self, data_folder_path},
    error::{CliError, Exit},
    output::{BOLD, Output, continued, paint},
    signals::Signals,
};

/// The maximum time for the query of the running turns during a stop.
const RUN_QUERY_TIMEOUT: Duration = Duration::from_secs(2);
/// The maximum time to record the results of turns after their agents have ended.
const RESULT_WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// The maximum number of running turns that are listed during a stop.
const MAX_LISTED_RUNS: u32 = 100;

/// Run automations on time and serve the API, until SIGTERM or Ctrl-C
///
/// Serves the API at a private socket in the data folder, for commands on this machine, and at a network address
/// (--listen), for browsers and programs that sign in with a token.
#[derive(Debug, clap::Args)]
#[command(args = crate::global::server_flags())]
pub(crate) struct Args {}

pub(crate) async fn run(_: Args, config: &Config, output: Output) -> Result<Exit, CliError> {
    // 1. Lock the folder and open the database.
    let mut signals = Signals::listen()?;
    check_address(config)?;
    server::raise_open_files_limit();
    // Lock before opening and migrating the database, because another server of the folder may use it.
    let lock = DataFolder::open(&data_folder_path(config)?)?.lock()?;
    let local = data_folder::open(config).await?;
    // 2. Start the server and publish its address.
    let access = NetworkAccess {
        listener: listen(config).await?,
        hosts: accepted_hosts(config),
        behind_tls_proxy: config.by_tls.value,
    };
    let server = Server::start(&local, access, lock).await?;
    let address = server.address().map(|address| public_url(address, config));
    let folder = local.folder.clone();
    folder.write_address(address.as_deref())?;
    let client = server.client(&local);
    // 3. Create the first token and print the summary.
    let token = first_token::create_if_none(&client, &folder).await;
    let next = automation_summary(&local, &client).await;
    let database = local.store.database().clone();
    let app = App::with_client(local, client, config, output);
    let printed = match (token, next) {
        (Ok(token), Ok(next)) => {
            print_summary(&app, &folder, address.as_deref(), token, next).await
        }
        (Err(failure), _) | (_, Err(failure)) => Err(failure),
    };
    if let Err(failure) = printed {
        // Report the error and continue: a single corrupt row must not prevent the server from running.
        failure.report(output);
    }
    // 4. Wait for a signal or for the death of a loop.
    let ended = server.failed_token();
    let died = tokio::select! {
        () = signals.next() => false,
        () = ended.cancelled() => true,
    };
    // 5. Stop. Remove the address first, so that no command sends a browser there.
    folder.write_address(None).ok();
    let stopped = stop(&app, server, signals, config).await;
    // Limit the wait, because a database connection that hangs would keep the process alive.
    timeout(RESULT_WRITE_TIMEOUT, database.close()).await.ok();
    stopped?;
    if died {
        let message = "a loop of the server died; the log shows the reason";
        return Err(CliError::message(Exit::Failed, message));
    }
    Ok(Exit::Done)
}

/// Refuses an address that other machines can reach, unless the configuration permits it.
fn check_address(config: &Config) -> Result<(), CliError> {
    let Some(address) = config.listen.value else {
        return Ok(());
    };
    if address.ip().is_loopback() || config.beyond_loopback.value {
        return Ok(());
    }
    let message =
        format!("the address {address} of `server.listen` is reachable by other machines");
    Err(CliError::message(Exit::Usage, message).with_hint(
        "set server.beyond_loopback to allow it; use a TLS proxy in front (server.by_tls), and name the host by \
         which clients reach it (server.hosts)",
    ))
}

/// Returns the host names by which the server accepts requests. They include the IP address that it listens at,
/// because DNS rebinding cannot redirect an IP address.
fn accepted_hosts(config: &Config) -> Vec<String> {
    let listen_host = config.listen.value.map(|address| match address.ip() {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    });
    config
        .hosts
        .value
        .iter()
        .cloned()
        .chain(listen_host)
        .collect()
}

async fn listen(config: &Config) -> Result<Option<TcpListener>, CliError> {
    let Some(address) = config.listen.value else {
        return Ok(None);
    };
    let listener = TcpListener::bind(address).await.map_err(|source| {
        CliError::environment(format!("cannot listen at {address}"), source).with_hint(
            "name another address with --listen or server.listen, such as 127.0.0.1:0 for any free port, or \
             none",
        )
    })?;
    Ok(Some(listener))
}

/// Returns the URL of the server for users.
fn public_url(address: SocketAddr, config: &Config) -> String {
    let port = address.port();
    let named = config.hosts.value.first();
    match named {
        Some(host) if config.by_tls.value => format!("https://{host}"),
        Some(host) => format!("http://{host}:{port}"),
        None => {
            let ip = match address.ip() {
                IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
                IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
                ip => ip,
            };
            format!("http://{}", SocketAddr::new(ip, port))
        }
    }
}

/// Returns the number of automations and the one with the next due trigger. Does not read the other automations,
/// because there may be many.
async fn automation_summary(
    local: &LocalInstance,
    client: &Client,
) -> Result<(u64, Option<AutomationView>), CliError> {
    let scope = Scope::Tenant(local.tenant);
    let (automations, next) = local.store.automation_summary(scope).await?;
    let next = match next {
        Some(id) => Some(client.automation(&id.to_string()).await?.value),
        None => None,
    };
    Ok((automations, next))
}

/// Prints the summary of the started server.
async fn print_summary(
    app: &App,
    folder: &DataFolder,
    address: Option<&str>,
    token_file: Option<PathBuf>,
    (automations, next): (u64, Option<AutomationView>),
) -> Result<(), CliError> {
    let next = next
        .as_ref()
        .and_then(|view| Some((view.upcoming_runs.first()?, &view.automation.name)));
    let path = folder.path();
    let sign_in_command = address.map(|_| "matins sign-in");
    if app.output.json {
        return Ok(app.output.document_line(&json!({
            "event": "ready",
            "data": path,
            "pid": std::process::id(),
            "address": address,
            "sign_in": sign_in_command,
            "token_file": token_file,
            "automations": automations,
            "next_run": next.map(|(run, name)| json!({ "automation": name, "at": run.at })),
        }))?);
    }
    let next = next.map_or_else(
        || "none by time".to_owned(),
        |(run, name)| format!("{} ({name})", run.display),
    );
    let token = token_file.map(|file| format!("created for an admin: {}", file.display()));
    // On a terminal a person reads along. A log would keep the secret of a link.
    let link = match address {
        Some(address) if app.output.is_interactive() => sign_in::create_at(app, address).await.ok(),
        _ => None,
    };
    let sign_in = match (&link, sign_in_command) {
        (Some(link), _) => Some(format!("{}\n{}", link.url(), link.note(app))),
        (None, Some(command)) => Some(format!("`{command}` prints a link for a browser")),
        (None, None) => None,
    };
    let fields = [
        ("address", Some(address.unwrap_or("none").to_owned())),
        ("sign in", sign_in),
        ("token", token),
        ("data", Some(path.display().to_string())),
        ("automations", Some(automations.to_string())),
        ("next run", Some(next)),
    ];
    let lines = fields
        .into_iter()
        .filter_map(|(name, value)| Some(format!("\n  {name:13}{}", continued(&value?, 15))));
    let lines: String = lines.collect();
    Ok(app
        .output
        .line(&format!("{}{lines}", paint(BOLD, "Matins is running.")))?)
}

/// Stops the server. Running turns may finish until the deadline; a second signal requeues them at once.
async fn stop(
    app: &App,
    server: Server,
    mut signals: Signals,
    config: &Config,
) -> Result<(), CliError> {
    let filter = RunFilter {
        runs: RunFilterRequest {
            status: vec![RunStatus::Running],
            ..RunFilterRequest::default()
        },
        page: PageParams::first(MAX_LISTED_RUNS),
        ..RunFilter::default()
    };
    let hurry = server.requeue_token();
    // Start the stop before the query below, so that a slow database does not let the server claim more turns.
    let stopping = tokio::spawn(server.stop());
    let running = timeout(RUN_QUERY_TIMEOUT, app.client.runs(&filter)).await;
    let running = running.map_or_else(
        |_| Vec::new(),
        |page| page.map_or_else(|_| Vec::new(), |page| page.items),
    );
    if !app.output.json && !running.is_empty() {
        let ids: Vec<_> = running.iter().map(|it| it.run.id.to_string()).collect();
        app.output.note(&format!(
            "Stopping: waiting up to {} s for {}; a second signal requeues them at once.",
            config.stop_deadline.value.as_secs(),
            ids.join(", "),
        ));
    }
    let limit = config.stop_deadline.value + GracePeriods::default().total() + RESULT_WRITE_TIMEOUT;
    let stopped = async {
        tokio::pin!(stopping);
        tokio::select! {
            stopped = &mut stopping => stopped,
            () = signals.next() => {
                hurry.cancel();
                stopping.await
            }
        }
    };
    let Ok(Ok(stopped)) = timeout(limit, stopped).await else {
        let message =
            "cannot record the results of all turns: the database does not respond in time";
        return Err(CliError::message(Exit::Environment, message).with_hint(
            "their agents end with this process; the next server retries their runs where that is possible",
        ));
    };
    if app.output.json {
        return Ok(app.output.document_line(&json!({
            "event": "stopped",
            "finished": stopped.finished,
            "requeued": stopped.requeued,
        }))?);
    }
    Ok(app.output.line(&format!(
        "Stopped: {} {} finished, {} {} requeued for the next server.",
        stopped.finished,
        if stopped.finished == 1 {
            "turn"
        } else {
            "turns"
        },
        stopped.requeued,
        if stopped.requeued == 1 { "was" } else { "were" },
    ))?)
}
