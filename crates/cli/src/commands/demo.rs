//! `matins demo`: runs an automation with the demonstration agent and prints its conversation, or runs a goal with a team
//! of demonstration agents.

mod goal;
mod page;
mod program_name;

use std::{collections::HashSet, net::Ipv4Addr, path::PathBuf, time::Duration};

use api_types::{
    AutomationRequest, AutomationView, ProblemKind, RunFilterRequest, SessionTarget,
    TriggerRequest, TriggerSpec,
};
use client::{MessageRange, PageParams, RunFilter};
use config::Config;
use model::{
    Clock as _, RunId, SessionId, Timestamp, automation::AutomationState, run::RunStatus,
    schedule::Period,
};
use server::{DataFolder, LocalInstance, NetworkAccess, Server, SystemClock};
use service::DEMO_AGENT;
use store::Location;
use tokio::{net::TcpListener, time::sleep};

use goal::{DEFAULT_GOAL, GoalPrinter};
use page::format_page;
use program_name::program_name;

use crate::{
    app::App,
    conversation::Transcript,
    environment,
    error::{CliError, Exit},
    global::Flags,
    output::{ATTENTION, BOLD, Output, clean, paint},
    signals::Signals,
};

/// The name of the automation.
const AUTOMATION_NAME: &str = "demo";
/// The default period of the automation.
const DEFAULT_PERIOD: &str = "5s";
/// The prompt of the automation.
const PROMPT: &str = "What did I ask you before?";
/// The interval at which the conversation is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The number of newest runs that each poll searches for ended turns.
const MAX_POLLED_RUNS: u32 = 100;
/// The maximum time for a running turn to end after Ctrl-C. The demonstration agent is quick.
const STOP_DEADLINE: Duration = Duration::from_secs(10);

/// Run the demonstration agent on a schedule and print its conversation; requires no setup
///
/// Keeps all data in a folder of its own. If the command is started again with the same folder, the agent
/// remembers the earlier conversation. With --goal, a team of demonstration agents plans, works and judges instead, for
/// about half a minute.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder for all data of the demonstration
    #[arg(long, default_value = "matins-demo", value_name = "DIR")]
    dir: PathBuf,
    /// The period between two prompts [default: 5s]
    #[arg(long, value_name = "PERIOD")]
    every: Option<Period>,
    /// Stop after this number of turns
    #[arg(long, value_name = "N", value_parser = parse_positive)]
    turns: Option<usize>,
    /// Let a team work on a goal instead, and print its steps; a goal with the words "ask me" puts a question
    #[arg(
        long,
        value_name = "TEXT",
        num_args = 0..=1,
        default_missing_value = DEFAULT_GOAL,
        conflicts_with_all = ["every", "turns"]
    )]
    goal: Option<String>,
}

fn parse_positive(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err("expected a whole number from 1".into()),
    }
}

/// Refuses flags that name a place for data, which the demonstration would ignore.
pub(crate) fn refuse_other_places(flags: &Flags) -> Result<(), CliError> {
    for flag in ["data", "database"] {
        if let Some(value) = flags.0.get(flag) {
            let value = clean(&value.to_string_lossy()).into_owned();
            return Err(CliError::message(
                Exit::Usage,
                format!("invalid `--{flag}` `{value}`: the demonstration keeps its data elsewhere"),
            )
            .with_hint("choose the folder with `matins demo --dir DIR`"));
        }
    }
    Ok(())
}

pub(crate) async fn run(args: Args, config: &Config, output: Output) -> Result<Exit, CliError> {
    let folder = DataFolder::open(&args.dir)?;
    // Always use the file in this folder, so that the demo never touches a database that the configuration names.
    let location = Location::SqliteFile(folder.database_path());
    let mut local = LocalInstance::open_at(
        folder.clone(),
        &location,
        config,
        environment::agent_environment(),
    )
    .await?;
    local.settings.stop_deadline = STOP_DEADLINE;
    let mut signals = Signals::listen()?;
    let lock = folder.lock()?;
    // The demonstration goes on without its page if this machine has no free port.
    let access = NetworkAccess {
        listener: TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.ok(),
        ..NetworkAccess::default()
    };
    let server = Server::start(&local, access, lock).await?;
    let address = server.address().map(|address| format!("http://{address}"));
    folder.write_address(address.as_deref())?;
    let client = server.client(&local);
    let app = App::with_client(local, client, config, output);
    let mut watch = match args.goal {
        Some(text) => {
            let printer = GoalPrinter::new(&app, folder.path().to_owned(), text);
            Watch::Goal(Box::new(printer))
        }
        None => Watch::Conversation(ConversationPrinter {
            app: &app,
            folder: clean(&folder.path().display().to_string()).into_owned(),
            started_at: SystemClock.now(),
            wanted_turns: args.turns,
            ended_runs: HashSet::new(),
            transcript: None,
        }),
    };
    let watched = async {
        match &mut watch {
            Watch::Goal(goal) => goal.run(address.as_deref()).await,
            Watch::Conversation(conversation) => {
                conversation.run(args.every, address.as_deref()).await
            }
        }
    };
    // Stop the server in every case, even if watching failed, and report that failure afterwards.
    let watched = tokio::select! {
        watched = watched => watched,
        () = signals.next() => Ok(()),
    };
    folder.write_address(None).ok();
    let hurry = server.requeue_token();
    let stopping = server.stop();
    tokio::pin!(stopping);
    tokio::select! {
        _ = &mut stopping => {}
        () = signals.next() => {
            hurry.cancel();
            stopping.await;
        }
    }
    watched?;
    let exit = match watch {
        Watch::Goal(goal) => goal.finish().await?,
        Watch::Conversation(conversation) => conversation.finish().await?,
    };
    app.close().await;
    Ok(exit)
}

/// The printer of a demonstration.
enum Watch<'a> {
    Conversation(ConversationPrinter<'a>),
    Goal(Box<GoalPrinter<'a>>),
}

/// Returns the automation of this folder. Creates it if it does not exist, and resumes it if it is paused.
async fn ensure_automation(app: &App, every: Option<Period>) -> Result<AutomationView, CliError> {
    let view = match app.client.automation(AUTOMATION_NAME).await {
        Ok(found) => found.value,
        Err(error) if error.kind() == Some(ProblemKind::NotFound) => {
            return create_automation(app, every).await;
        }
        Err(error) => return Err(error.into()),
    };
    let fires_every = |spec: &TriggerSpec| match spec {
        TriggerSpec::Every { period, .. } => Some(*period),
        _ => None,
    };
    let period = view
        .triggers
        .iter()
        .find_map(|trigger| fires_every(&trigger.spec));
    if let (Some(requested), Some(period)) = (every, period)
        && requested != period
    {
        app.output.aside(&format!(
            "The automation of this folder runs every {period}; --every {requested} applies only to a new folder."
        ));
    }
    if view.automation.state == AutomationState::Paused {
        return Ok(app.client.resume_automation(AUTOMATION_NAME).await?);
    }
    Ok(view)
}

async fn create_automation(app: &App, every: Option<Period>) -> Result<AutomationView, CliError> {
    let period = every.map_or_else(|| DEFAULT_PERIOD.to_owned(), |period| period.to_string());
    let request = AutomationRequest {
        name: Some(AUTOMATION_NAME.into()),
        triggers: vec![TriggerRequest::Every {
            period,
            anchor: None,
            zone: None,
        }],
        session: SessionTarget::Continuous,
        agent: Some(DEMO_AGENT.into()),
        ..AutomationRequest::new(PROMPT)
    };
    Ok(app.client.create_automation(&request).await?)
}

async fn print_introduction(
    app: &App,
    folder: &str,
    view: &AutomationView,
    address: Option<&str>,
) -> Result<(), CliError> {
    if app.output.json {
        return Ok(());
    }
    let page = format_page(app, folder, address).await?;
    let schedule = view
        .triggers
        .iter()
        .find(|trigger| trigger.spec != TriggerSpec::Manual {})
        .map(|trigger| trigger.spec.to_string())
        .unwrap_or_default();
    let before = match &view.session {
        Some(_) => "It continues the session of the last demonstration, and remembers it.",
        None => "Each turn runs in a new process of the agent, in one session that remembers.",
    };
    Ok(app.output.line(&format!(
        "{title}\nThe demonstration agent gets a prompt {schedule}: \"{PROMPT}\"\n{before}\n{page}All \
         data is in {folder}. Ctrl-C stops.\n",
        title = paint(BOLD, "Matins: an agent that works on time, and remembers."),
    ))?)
}

/// The printer of the growing conversation.
struct ConversationPrinter<'a> {
    app: &'a App,
    /// The path of the folder, for messages.
    folder: String,
    started_at: Timestamp,
    wanted_turns: Option<usize>,
    ended_runs: HashSet<RunId>,
    transcript: Option<Transcript>,
}

impl ConversationPrinter<'_> {
    /// Starts the automation, and prints until the wanted number of turns has ended.
    async fn run(&mut self, every: Option<Period>, address: Option<&str>) -> Result<(), CliError> {
        let view = ensure_automation(self.app, every).await?;
        print_introduction(self.app, &self.folder, &view, address).await?;
        let session = view.session.as_ref();
        self.transcript =
            session.map(|it| Transcript::new(it.id, MessageRange::After(it.last_seq)));
        self.print_until_done().await
    }

    /// Prints the messages of the last turn, which ended during the stop, and the next steps.
    async fn finish(mut self) -> Result<Exit, CliError> {
        self.print_new_messages().await?;
        let session = self.transcript.as_ref().map(Transcript::session);
        print_next_steps(self.app, &self.folder, session)?;
        Ok(Exit::Done)
    }

    /// Prints until the wanted number of turns has ended.
    async fn print_until_done(&mut self) -> Result<(), CliError> {
        loop {
            let before = self.ended_runs.len();
            let ended = self.count_ended_turns().await?;
            self.print_new_messages().await?;
            if ended > before {
                self.report_pause().await?;
            }
            if let Some(wanted) = self.wanted_turns
                && ended >= wanted
            {
                return Ok(());
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Prints that the automation has paused itself after a turn, if it has. Fails if the user wants a number of
    /// turns, because no more turns will follow.
    async fn report_pause(&self) -> Result<(), CliError> {
        let app = self.app;
        let automation = app
            .client
            .automation(AUTOMATION_NAME)
            .await?
            .value
            .automation;
        let Some(reason) = automation
            .attention
            .filter(|_| automation.state == AutomationState::Paused)
        else {
            return Ok(());
        };
        let folder = &self.folder;
        let matins = clean(&program_name()).into_owned();
        let hint = format!(
            "`{matins} --data {folder} run list` shows the errors; after you have fixed them, \
             `{matins} --data {folder} automation resume {AUTOMATION_NAME}` resumes the automation, and so \
             does this command when it is started again"
        );
        if self.wanted_turns.is_some() {
            let message = format!("the automation {}", clean(&reason));
            return Err(CliError::message(Exit::TurnFailed, message).with_hint(hint));
        }
        app.output.note(&format!(
            "{} {hint}. Ctrl-C stops.",
            paint(ATTENTION, &format!("The automation {}.", clean(&reason)))
        ));
        Ok(())
    }

    /// Returns the number of turns that have ended since this process began.
    async fn count_ended_turns(&mut self) -> Result<usize, CliError> {
        let filter = RunFilter {
            runs: RunFilterRequest {
                automation: Some(AUTOMATION_NAME.into()),
                ..RunFilterRequest::default()
            },
            page: PageParams::first(MAX_POLLED_RUNS),
            ..RunFilter::default()
        };
        let runs = self.app.client.runs(&filter).await?.items;
        let ended = runs.into_iter().map(|item| item.run).filter(|run| {
            let over = run.ended_at.is_some_and(|at| at >= self.started_at);
            over && !matches!(run.status, RunStatus::Skipped | RunStatus::Missed)
        });
        self.ended_runs.extend(ended.map(|run| run.id));
        Ok(self.ended_runs.len())
    }

    /// Prints the new messages of the conversation.
    async fn print_new_messages(&mut self) -> Result<(), CliError> {
        if self.transcript.is_none() {
            let view = self.app.client.automation(AUTOMATION_NAME).await?.value;
            let beginning = MessageRange::After(0);
            self.transcript = view.session.map(|it| Transcript::new(it.id, beginning));
        }
        if let Some(transcript) = &mut self.transcript {
            let Self { app, .. } = self;
            transcript
                .print_new_messages(&app.client, app.output, &app.time)
                .await?;
        }
        Ok(())
    }
}

fn print_next_steps(app: &App, folder: &str, session: Option<SessionId>) -> Result<(), CliError> {
    let Some(session) = session.filter(|_| !app.output.json) else {
        return Ok(());
    };
    let matins = clean(&program_name()).into_owned();
    Ok(app.output.line(&format!(
        "\n{stopped}\n  continue    {matins} demo --dir {folder}\n  show        {matins} --data {folder} \
         session show {session}\n  send        {matins} --data {folder} session send {session} \
         \"Hello\"\n  real agents {matins} agent list",
        stopped = paint(BOLD, "Stopped. The session remains, with everything that it remembers."),
    ))?)
}
