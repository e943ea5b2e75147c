//! `matins demo`: watch an agent work on a schedule and remember.

use std::{collections::HashSet, path::PathBuf, time::Duration};

use config::Config;
use model::{
    RunId, SessionId, Timestamp,
    automation::AutomationState,
    entity::SeatSettings,
    permission::PermissionRules,
    policy::Policies,
    run::RunStatus,
    schedule::{Period, Spec},
};
use service::{AutomationRequest, AutomationView, DEMO_HARNESS, RunQuery, SessionTarget, Timing};
use store::Location;
use tokio::time::sleep;

use crate::{
    app::App,
    data_folder::DataFolder,
    engine::Server,
    failure::{Exit, Failure},
    output::{BOLD, Output, Transcript, clean, paint},
    signals::Signals,
};

/// The name of the automation.
const NAME: &str = "demo";
/// What the agent is asked.
const PROMPT: &str = "What did I ask you before?";
/// How often the conversation is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// How many of the newest runs are looked at for those that ended since the last look.
const LOOKED_AT: u32 = 100;
/// How long a running turn may take to end: the demonstration agent is quick.
const STOP_DEADLINE: Duration = Duration::from_secs(10);

/// Watch the demonstration agent work on a schedule and remember; needs nothing else
///
/// Everything is in a folder of its own. Start it again with the same folder: the agent remembers.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder that everything is kept in
    #[arg(long, default_value = "matins-demo", value_name = "DIR")]
    dir: PathBuf,
    /// How often the agent is asked [default: 5s]
    #[arg(long, value_name = "PERIOD")]
    every: Option<Period>,
    /// Stop after so many turns
    #[arg(long, value_name = "N", value_parser = positive)]
    turns: Option<usize>,
}

fn positive(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err("expected a whole number from 1".into()),
    }
}

pub(crate) async fn run(args: Args, config: &Config, output: Output) -> Result<Exit, Failure> {
    let folder = DataFolder::open(&args.dir)?;
    // Nothing but this folder is touched, whatever database is named for other commands.
    let location = Location::SqliteFile(folder.database());
    let mut app = App::open_at(folder, &location, config, output).await?;
    app.settings.stop_deadline = STOP_DEADLINE;
    let mut signals = Signals::listen()?;
    let server_lock = Server::start(&app)?;
    let begun = app.clock.now();
    let mut watch = Watch {
        app: &app,
        begun,
        wanted: args.turns,
        ended: HashSet::new(),
        transcript: None,
    };
    let watched = async {
        let view = automation(&app, args.every).await?;
        greet(&app, &view)?;
        let session = view.session.as_ref();
        watch.transcript = session.map(|it| Transcript::new(it.id, it.last_seq));
        app.poke().await;
        watch.go_on().await
    };
    let watched = tokio::select! {
        watched = watched => watched,
        () = signals.next() => Ok(()),
    };
    let hurry = server_lock.hurry();
    let stopping = server_lock.stop();
    tokio::pin!(stopping);
    tokio::select! {
        _ = &mut stopping => {}
        () = signals.next() => {
            hurry.cancel();
            stopping.await;
        }
    }
    watched?;
    // What the last turn said while it was let end.
    watch.look().await?;
    farewell(&app, watch.transcript.as_ref().map(Transcript::session))?;
    app.store.database().close().await;
    Ok(Exit::Done)
}

/// The automation of this folder: made where there is none, let go on where it was held.
async fn automation(app: &App, every: Option<Period>) -> Result<AutomationView, Failure> {
    let views = app.service.automations().await?;
    let Some(view) = views.into_iter().find(|view| view.automation.name == NAME) else {
        let period = every.map_or_else(|| "5s".to_owned(), |every| every.to_string());
        let request = AutomationRequest {
            name: Some(NAME.into()),
            prompt: PROMPT.into(),
            timings: vec![Timing::Every(period)],
            zone: "UTC".into(),
            session: SessionTarget::Continuous,
            harness: Some(DEMO_HARNESS.into()),
            cwd: None,
            policies: Policies::default(),
            settings: SeatSettings::default(),
            permissions: PermissionRules::default(),
        };
        return Ok(app.service.create_automation(&request).await?);
    };
    let fires_every = |spec: &Spec| match spec {
        Spec::Every { period, .. } => Some(*period),
        _ => None,
    };
    let period = view
        .triggers
        .iter()
        .find_map(|trigger| fires_every(&trigger.spec));
    if let (Some(asked), Some(period)) = (every, period)
        && asked != period
    {
        app.output.aside(&format!(
            "This folder's automation fires every {period}; --every {asked} is for a new folder."
        ));
    }
    if view.automation.state == AutomationState::Paused {
        return Ok(app.service.resume_automation(NAME).await?);
    }
    Ok(view)
}

fn greet(app: &App, view: &AutomationView) -> Result<(), Failure> {
    if app.output.json {
        return Ok(());
    }
    let schedule = view
        .triggers
        .iter()
        .find(|trigger| trigger.spec != Spec::Manual {})
        .map(|trigger| trigger.spec.to_string())
        .unwrap_or_default();
    let before = match &view.session {
        Some(_) => "It goes on in the session of the last time, and remembers it.",
        None => "Each turn is a new process of the agent, in one session that remembers.",
    };
    Ok(app.output.line(&format!(
        "{title}\nThe demonstration agent is asked {schedule}: \"{PROMPT}\"\n{before}\nEverything is \
         in {folder}. Ctrl-C stops.\n",
        title = paint(BOLD, "Matins: an agent that works on time, and remembers."),
        folder = app.folder.path().display(),
    ))?)
}

/// The conversation as it grows.
struct Watch<'a> {
    app: &'a App,
    begun: Timestamp,
    wanted: Option<usize>,
    ended: HashSet<RunId>,
    transcript: Option<Transcript>,
}

impl Watch<'_> {
    /// Prints until there were as many turns as wanted.
    async fn go_on(&mut self) -> Result<(), Failure> {
        loop {
            let ended = self.ended_turns().await?;
            self.look().await?;
            if let Some(wanted) = self.wanted
                && ended >= wanted
            {
                return Ok(());
            }
            sleep(LOOK).await;
        }
    }

    /// How many turns ended since this process began.
    async fn ended_turns(&mut self) -> Result<usize, Failure> {
        let query = RunQuery {
            automation: Some(NAME.into()),
            limit: LOOKED_AT,
            ..RunQuery::default()
        };
        let runs = self.app.service.runs(&query).await?;
        let ended = runs.iter().filter(|run| {
            let over = run.ended_at.is_some_and(|at| at >= self.begun);
            over && !matches!(run.status, RunStatus::Skipped | RunStatus::Missed)
        });
        self.ended.extend(ended.map(|run| run.id));
        Ok(self.ended.len())
    }

    async fn look(&mut self) -> Result<(), Failure> {
        if self.transcript.is_none() {
            let view = self.app.service.automation(NAME).await?;
            self.transcript = view.session.map(|session| Transcript::new(session.id, 0));
        }
        if let Some(transcript) = &mut self.transcript {
            let Self { app, .. } = self;
            transcript
                .print_news(&app.service, app.output, &app.time)
                .await?;
        }
        Ok(())
    }
}

/// What this program was called as, so that lines can be copied: `matins`, or a path to it.
fn called() -> String {
    std::env::args().next().unwrap_or_else(|| "matins".into())
}

fn farewell(app: &App, session: Option<SessionId>) -> Result<(), Failure> {
    let Some(session) = session.filter(|_| !app.output.json) else {
        return Ok(());
    };
    let folder = clean(&app.folder.path().display().to_string());
    let matins = clean(&called());
    Ok(app.output.line(&format!(
        "\n{stopped}\n  go on       {matins} demo --dir {folder}\n  look        {matins} --data {folder} \
         session show {session}\n  talk        {matins} --data {folder} session say {session} \
         \"Hello\"\n  real agents {matins} harness list",
        stopped = paint(BOLD, "Stopped. The session stays, and so does what it remembers."),
    ))?)
}
