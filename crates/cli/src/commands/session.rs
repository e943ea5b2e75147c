//! `matins session`: creates, lists, shows, changes and exports sessions, and sends messages to their agents.

mod delete;
mod export;
mod message;
mod new;
mod show;

use std::path::PathBuf;

use api_types::{ProblemKind, Run, SessionItem, SessionRequest};
use clap::Subcommand;
use client::{PageParams, SessionFilter, SessionMove};
use model::{limits::CONTENT_BYTES, session::SessionType};

use super::options::{SettingOptions, absolute_directory, text_or_stdin};
use crate::{
    app::App,
    error::{CliError, Exit},
    follow,
    output::{excerpt, last_columns, short_ids, table},
};

/// Manage sessions, and send messages to their agents
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the sessions that people created, most recently changed first
    #[command(visible_alias = "ls")]
    List {
        /// Also list sessions that automations created
        #[arg(long)]
        all: bool,
        /// Only sessions that this automation created
        #[arg(long, value_name = "NAME")]
        automation: Option<String>,
        /// The maximum number of sessions
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: u32,
    },
    New(new::Args),
    Show(show::Args),
    /// Send a message to the agent of a session and print its answer
    #[command(alias = "say")]
    Send(SendArgs),
    Message(message::SendArgs),
    Messages(message::ListArgs),
    Ack(message::AckArgs),
    /// Cancel all queued and running turns of a session
    Cancel {
        /// The session: its key, its ID or a prefix of its ID
        session: String,
    },
    /// Enable a draft session: its queued messages start
    Enable(MoveArgs),
    /// Pause a session: running turns continue, everything else waits until it is resumed
    Pause(MoveArgs),
    /// Resume a paused session
    Resume(MoveArgs),
    /// Complete a session: its queued turns are cancelled, and it accepts no more messages
    Complete(MoveArgs),
    /// Archive a session that is done or failed
    Archive(MoveArgs),
    Export(export::Args),
    #[command(visible_alias = "rm")]
    Delete(delete::Args),
}

#[derive(Debug, clap::Args)]
struct MoveArgs {
    /// The session: its key, its ID or a prefix of its ID
    session: String,
    /// The reason, which `matins session show` displays
    #[arg(long)]
    reason: Option<String>,
}

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "matins session send [OPTIONS] <SESSION> <MESSAGE>\n       \
                      matins session send [OPTIONS] --new --agent <NAME> <MESSAGE>"
)]
struct SendArgs {
    /// The session (its key, its ID or a prefix of its ID), unless --new is given; then the message, or - to
    /// read it from standard input
    #[arg(required = true, num_args = 1..=2, value_names = ["SESSION", "MESSAGE"])]
    session_and_message: Vec<String>,
    /// Create a new session
    #[arg(long, requires = "agent")]
    new: bool,
    /// The agent of the new session
    #[arg(long, alias = "harness", value_name = "NAME", requires = "new")]
    agent: Option<String>,
    /// The working directory of the new session [default: a new folder]
    #[arg(long, value_name = "DIR", requires = "new")]
    dir: Option<PathBuf>,
    /// The instance on which the turns of the new session run; `matins instance list` shows the instances [default: any]
    #[arg(long, value_name = "INSTANCE", requires = "new")]
    on: Option<String>,
    /// The title of the new session
    #[arg(long, requires = "new")]
    title: Option<String>,
    /// The seat that takes the message, if the session has several [default: the entry seat]
    #[arg(long, value_name = "SEAT", conflicts_with = "new")]
    seat: Option<String>,
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
        Command::New(args) => new::run(args, app).await?,
        Command::Show(args) => show::run(args, app).await?,
        Command::Send(args) => return send_message(app, args).await,
        Command::Message(args) => return message::send(args, app).await,
        Command::Messages(args) => return message::list(args, app).await,
        Command::Ack(args) => return message::acknowledge(args, app).await,
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
    let ids = short_ids(sessions.iter().map(|item| item.session.id));
    let rows = sessions.iter().zip(ids).map(|(item, id)| {
        let session = &item.session;
        let last_run = item.last_run.as_ref();
        [
            id,
            session.state.to_string(),
            session.session_type.to_string(),
            app.time.minute(session.updated_at),
            last_run.map_or_else(|| "-".into(), |run| run.status.to_string()),
            title_or_message(item).to_owned(),
        ]
    });
    let mut rows: Vec<_> = rows.collect();
    let headings = ["SESSION", "STATE", "TYPE", "CHANGED", "LAST RUN", "TITLE"];
    let room = last_columns(&headings, &rows);
    for [.., title] in &mut rows {
        *title = excerpt(title, room);
    }
    app.output.line(&table(headings, rows))?;
    for item in &sessions {
        if let Some(name) = &item.removed_instance {
            let (id, name) = (item.session.id, excerpt(name, 40));
            let mark = format!("{id} is on {name}, which was removed: its runs fail.");
            app.output.line(&mark)?;
        }
    }
    Ok(())
}

/// Returns the title of a session. Without a title, the last message tells a person which session it is.
fn title_or_message(item: &SessionItem) -> &str {
    let message = item.last_message.as_ref().map(|message| &message.text);
    let title = item.session.title.as_ref();
    title.or(message).map_or("", String::as_str)
}

async fn send_message(app: &App, args: SendArgs) -> Result<Exit, CliError> {
    let expected = |message: &str| {
        CliError::message(Exit::Usage, message.to_owned())
            .with_hint("`matins session send --help` shows both forms")
    };
    let mut given = args.session_and_message.into_iter();
    let run = match (args.new, args.agent, given.next(), given.next()) {
        (true, Some(agent), Some(message), None) => {
            let request = SessionRequest {
                agent: Some(agent),
                cwd: absolute_directory(app, args.dir)?,
                placed_on: args.on,
                title: args.title,
                settings: args.settings.settings().into(),
                ..SessionRequest::default()
            };
            send_to_new_session(app, &request, &text_or_stdin(message, CONTENT_BYTES)?).await?
        }
        (true, _, Some(session), Some(_)) => {
            let message =
                format!("the session `{session}` cannot be used with `--new`, which creates one");
            return Err(expected(&message));
        }
        (false, _, Some(session), Some(message)) => {
            if args.settings.mode.is_some() || !args.settings.set.is_empty() {
                let refusal = "`--mode` and `--set` require `--new`";
                return Err(expected(refusal));
            }
            app.client
                .send_message_to_seat(
                    &session,
                    args.seat.as_deref(),
                    &text_or_stdin(message, CONTENT_BYTES)?,
                )
                .await?
        }
        _ => {
            return Err(expected(
                "the session or the message is missing, and `--new` was not given",
            ));
        }
    };
    if args.new
        && let Some(session) = run.session_id
    {
        app.output.aside(&format!(
            "Created {session}. To continue: matins session send {session} \"...\""
        ));
    }
    follow::follow_to_end(app, run, args.queue).await
}

/// Creates a session with its first message. Deletes the session again if the API rejects the message as invalid.
async fn send_to_new_session(
    app: &App,
    request: &SessionRequest,
    message: &str,
) -> Result<Run, CliError> {
    let session = app.client.create_session(request).await?.id.to_string();
    match app.client.send_message(&session, message).await {
        Err(error) if error.kind() == Some(ProblemKind::Invalid) => {
            if let Err(error) = app.client.delete_session(&session, false).await {
                tracing::debug!(%error, "cannot delete the new session, which has no message");
            }
            Err(error.into())
        }
        sent => Ok(sent?),
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
    let message = match cancelled.cancelled {
        0 => "The session has no queued or running turns.".to_owned(),
        1 => "Cancelled 1 run.".to_owned(),
        count => format!("Cancelled {count} runs."),
    };
    Ok(app.output.line(&message)?)
}
