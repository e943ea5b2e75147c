//! `matins serve`: the loops that make everything happen on time.

use model::run::RunStatus;
use serde_json::json;
use service::{Outlook, RunQuery};

use crate::{
    app::App,
    engine::Server,
    failure::{Exit, Failure},
    output::{BOLD, paint},
    signals::Signals,
};

/// How many running turns are named at the most.
const NAMED_RUNS: u32 = 100;

/// Run automations on time, until SIGTERM or Ctrl-C
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) async fn run(app: App) -> Result<Exit, Failure> {
    let mut signals = Signals::listen()?;
    let server = Server::start(&app)?;
    if let Err(failure) = greet(&app).await {
        // One row that cannot be read is no reason to serve nobody.
        failure.report(app.output);
    }
    let ended = server.ended();
    let died = tokio::select! {
        () = signals.next() => false,
        () = ended.cancelled() => true,
    };
    stop(&app, server, signals).await?;
    if died {
        let message = "go on serving: a part of the server died; its log says why";
        return Err(Failure::message(Exit::Failed, message));
    }
    Ok(Exit::Done)
}

async fn greet(app: &App) -> Result<(), Failure> {
    let Outlook { automations, next } = app.service.outlook().await?;
    let next = next
        .as_ref()
        .and_then(|view| Some((view.next_fires.first()?, &view.automation.name)));
    let folder = app.folder.path();
    if app.output.json {
        return Ok(app.output.document_line(&json!({
            "event": "serving",
            "data": folder,
            "pid": std::process::id(),
            "automations": automations,
            "next_fire": next.map(|(fire, name)| json!({ "automation": name, "at": fire.at })),
        }))?);
    }
    let next = next.map_or_else(
        || "nothing is due by time".to_owned(),
        |(fire, name)| format!("{} ({name})", fire.shown),
    );
    Ok(app.output.line(&format!(
        "{}\n  data         {}\n  automations  {}\n  next fire    {next}",
        paint(BOLD, "Matins serves."),
        folder.display(),
        automations,
    ))?)
}

/// Stops gently; a second signal hands running turns back at once.
async fn stop(app: &App, server: Server, mut signals: Signals) -> Result<(), Failure> {
    let query = RunQuery {
        status: Some(RunStatus::Running),
        limit: NAMED_RUNS,
        ..RunQuery::default()
    };
    let running = app.service.runs(&query).await.unwrap_or_default();
    if !app.output.json && !running.is_empty() {
        let ids: Vec<_> = running.iter().map(|run| run.id.to_string()).collect();
        app.output.note(&format!(
            "Stopping: up to {} s for {} to end; a second signal hands it back at once.",
            app.settings.stop_deadline.as_secs(),
            ids.join(", "),
        ));
    }
    let hurry = server.hurry();
    let stopping = server.stop();
    tokio::pin!(stopping);
    let stopped = tokio::select! {
        stopped = &mut stopping => stopped,
        () = signals.next() => {
            hurry.cancel();
            stopping.await
        }
    };
    if app.output.json {
        return Ok(app.output.document_line(&json!({
            "event": "stopped",
            "finished": stopped.finished,
            "handed_back": stopped.handed_back,
        }))?);
    }
    Ok(app.output.line(&format!(
        "Stopped: {} turns ended meanwhile, {} were handed back and go on with the next start.",
        stopped.finished, stopped.handed_back
    ))?)
}
