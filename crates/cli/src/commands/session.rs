//! `matins session`: lists, shows, changes and exports sessions, and sends messages to their agents.

mod delete;
mod export;
mod show;

use std::path::PathBuf;

use api_types::{ProblemKind, Run, SessionRequest};
use clap::Subcommand;
use client::{PageParams, SessionFilter, SessionMove};
use model::session::SessionType;

use super::options::{SettingOptions, absolute_directory, text_or_stdin};
use crate::{
    app::App,
    error::{CliError, Exit},
    follow,
    output::{excerpt, short_ids, table},
};

/// Sessions: conversations that remember
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the sessions that people began, the most recently changed first
    List {
        /// Those that automations made, too
        #[arg(long)]
        all: bool,
        /// Those that an automation made
        #[arg(long, value_name = "NAME")]
        automation: Option<String>,
        /// How many at the most
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: u32,
    },
    Show(show::Args),
    /// Say something to the agent of a session and print its answer
    Send(SendArgs),
    /// Call off everything in a session that runs or waits
    Cancel {
        /// The session: its key, its ID or a prefix of its ID
        session: String,
    },
    /// Let a draft begin: what waits in it starts
    Enable(MoveArgs),
    /// Hold a session: turns that run go on, everything else waits until it is resumed
    Pause(MoveArgs),
    /// Let a paused session go on
    Resume(MoveArgs),
    /// Say that a session is done: what waits is called off, and nothing more is taken
    Complete(MoveArgs),
    /// Put a session away that is done or failed
    Archive(MoveArgs),
    Export(export::Args),
    Delete(delete::Args),
}

#[derive(Debug, clap::Args)]
struct MoveArgs {
    /// The session: its key, its ID or a prefix of its ID
    session: String,
    /// Why, for those who look at it later
    #[arg(long)]
    reason: Option<String>,
}

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "matins session say [OPTIONS] <SESSION> <WORDS>\n       \
                      matins session say [OPTIONS] --new --agent <NAME> <WORDS>"
)]
struct SendArgs {
    /// The session (its key, its ID or a prefix of its ID), unless --new; then the words, or - to
    /// read them from standard input
    #[arg(required = true, num_args = 1..=2, value_names = ["SESSION", "WORDS"])]
    session_and_message: Vec<String>,
    /// Begin a new session
    #[arg(long, requires = "agent")]
    new: bool,
    /// The agent of the new session
    #[arg(long, value_name = "NAME", requires = "new")]
    agent: Option<String>,
    /// The working directory of the new session [default: a folder of its own]
    #[arg(long, value_name = "DIR", requires = "new")]
    dir: Option<PathBuf>,
    /// The title of the new session
    #[arg(long, requires = "new")]
    title: Option<String>,
    #[command(flatten)]
    settings: SettingOptions,
    /// Only queue the run, and leave it to the server of the data folder
    #[arg(long)]
    queue: bool,
}

pub(crate) async fn run(args: Args, app: &App) -> Result<Exit, CliError> {
    match args.command {
        Command::List {
            all,
            automation,
            limit,
        } => {
            let types = if all { SessionType::ALL } else { &[] };
            let filter = SessionFilter {
                types: types.to_vec(),
                automation,
                by_change: true,
                page: PageParams::first(limit),
                ..SessionFilter::default()
            };
            list(app, &filter).await?;
        }
        Command::Show(args) => show::run(args, app).await?,
        Command::Send(say) => return self::send_message(app, say).await,
        Command::Cancel { session } => cancel(app, &session).await?,
        Command::Enable(moved) => move_session(app, &moved, SessionMove::Enable).await?,
        Command::Pause(moved) => move_session(app, &moved, SessionMove::Pause).await?,
        Command::Resume(moved) => move_session(app, &moved, SessionMove::Resume).await?,
        Command::Complete(moved) => move_session(app, &moved, SessionMove::Complete).await?,
        Command::Archive(moved) => move_session(app, &moved, SessionMove::Archive).await?,
        Command::Export(args) => return export::run(args, app).await,
        Command::Delete(args) => return delete::run(args, app).await,
    }
    Ok(Exit::Done)
}

async fn list(app: &App, filter: &SessionFilter) -> Result<(), CliError> {
    let sessions = app.client.sessions(filter).await?.items;
    if app.output.json {
        return Ok(app.output.document(&sessions)?);
    }
    if sessions.is_empty() {
        let more = if !filter.types.is_empty() || filter.automation.is_some() {
            ""
        } else {
            " --all shows those of automations, too."
        };
        return Ok(app.output.line(&format!("No sessions.{more}"))?);
    }
    let ids = short_ids(sessions.iter().map(|session| session.id));
    let rows = sessions.iter().zip(ids).map(|(session, id)| {
        [
            id,
            session.state.to_string(),
            session.session_type.to_string(),
            app.time.date_time(session.updated_at),
            excerpt(show::title(session), 50),
        ]
    });
    let headings = ["SESSION", "STATE", "TYPE", "CHANGED", "TITLE"];
    Ok(app.output.line(&table(headings, rows))?)
}

async fn send_message(app: &App, say: SendArgs) -> Result<Exit, CliError> {
    let expected = |message: &str| {
        CliError::message(Exit::Usage, message.to_owned())
            .with_hint("matins session say --help shows both forms")
    };
    let mut said = say.session_and_message.into_iter();
    let run = match (say.new, say.agent, said.next(), said.next()) {
        (true, Some(agent), Some(words), None) => {
            let request = SessionRequest {
                agent,
                cwd: absolute_directory(app, say.dir)?,
                title: say.title,
                settings: say.settings.settings().into(),
                ..SessionRequest::default()
            };
            send_to_new_session(app, &request, &text_or_stdin(words)?).await?
        }
        (true, _, Some(session), Some(_)) => {
            let message = format!("say that: {session:?} names a session, and --new begins one");
            return Err(expected(&message));
        }
        (false, _, Some(session), Some(words)) => {
            if say.settings.mode.is_some() || !say.settings.set.is_empty() {
                let message = "take --mode and --set: they are for a session that --new begins";
                return Err(expected(message));
            }
            app.client
                .send_message(&session, &text_or_stdin(words)?)
                .await?
        }
        _ => {
            return Err(expected(
                "say that: the session or the words are missing, and --new was not given",
            ));
        }
    };
    if say.new
        && let Some(session) = run.session_id
    {
        app.output.aside(&format!(
            "Began {session}. Go on with: matins session say {session} \"...\""
        ));
    }
    follow::follow_to_end(app, run, say.queue).await
}

/// Creates a session with its first message. Deletes the session again if the API rejects the message as invalid.
async fn send_to_new_session(
    app: &App,
    request: &SessionRequest,
    words: &str,
) -> Result<Run, CliError> {
    let session = app.client.create_session(request).await?.id.to_string();
    match app.client.send_message(&session, words).await {
        Err(error) if error.kind() == Some(ProblemKind::Invalid) => {
            if let Err(error) = app.client.delete_session(&session, false).await {
                tracing::debug!(%error, "a session stays in which nothing was said");
            }
            Err(error.into())
        }
        said => Ok(said?),
    }
}

async fn move_session(app: &App, moved: &MoveArgs, how: SessionMove) -> Result<(), CliError> {
    let reason = moved.reason.as_deref();
    let view = app.client.move_session(&moved.session, how, reason).await?;
    if app.output.json {
        return Ok(app.output.document(&view)?);
    }
    let session = &view.session;
    Ok(app
        .output
        .line(&format!("{} is {}.", session.id, session.state))?)
}

async fn cancel(app: &App, given: &str) -> Result<(), CliError> {
    let cancelled = app.client.cancel_session(given).await?;
    if app.output.json {
        return Ok(app.output.document(&cancelled)?);
    }
    let told = match cancelled.cancelled {
        0 => "Nothing runs or waits in it.".to_owned(),
        1 => "Called off one run.".to_owned(),
        count => format!("Called off {count} runs."),
    };
    Ok(app.output.line(&told)?)
}
