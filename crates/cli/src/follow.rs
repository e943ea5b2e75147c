//! Following a run until it ends: the answer goes to standard output, everything else beside it.

use std::time::Duration;

use client::{Client, MessagePart};
use model::{
    RunId,
    run::{Origin, RunStatus},
    transcript::Speaker,
};
use serde::Serialize;
use server::Local;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use wire::{Message, ProblemKind, Run, RunFlags, RunView, Waiting};

use crate::{
    app::{App, Whom},
    failure::{Exit, Failure},
    local,
    output::{OutputError, Transcript, clean},
    signals::Signals,
};

/// How often it is looked at what has become of a run.
const LOOK: Duration = Duration::from_millis(100);

/// How a run ended, as JSON.
#[derive(Serialize)]
struct Followed<'a> {
    run: &'a Run,
    answer: Option<&'a str>,
}

/// Sees a run that was just asked for to its end: beside whoever serves, or by taking its turn here. With
/// `only_queue` it is left to whoever serves.
pub(crate) async fn see_through(app: &App, run: Run, only_queue: bool) -> Result<Exit, Failure> {
    if run.status.is_over() {
        return end(app, &run, None);
    }
    if only_queue {
        let waiting = app.client.run(&run.id.to_string()).await?.waiting;
        return queued(app, &run, waiting.as_ref(), app.is_served());
    }
    let mut signals = Signals::listen()?;
    let mut follower = Follower::new(app, &run);
    if let Whom::Nobody(local) = &app.whom {
        app.output
            .aside("Nobody serves this data folder, so this process takes the turn.");
        return Box::pin(take(app, local, run, follower, signals)).await;
    }
    let followed = tokio::select! {
        followed = Box::pin(follower.follow(run)) => followed,
        () = signals.next() => {
            app.output.aside("No longer followed; the turn goes on.");
            Ok(Exit::Interrupted)
        }
    };
    follower.close().await;
    followed
}

/// Takes the turn here and follows it. Ctrl-C calls it off, gently; a second one ends the process.
async fn take(
    app: &App,
    local: &Local,
    run: Run,
    mut follower: Follower<'_>,
    mut signals: Signals,
) -> Result<Exit, Failure> {
    let stop = CancellationToken::new();
    let id = run.id;
    let both = take_and_follow(app, local, run, &mut follower, stop.clone());
    let interrupted = async {
        signals.next().await;
        app.output
            .aside("Calling it off; Ctrl-C again stops at once.");
        if let Err(error) = call_off(app, id).await {
            tracing::debug!(
                ?error,
                "failed to call the run off; it is stopped all the same"
            );
        }
        stop.cancel();
        signals.next().await;
    };
    tokio::select! {
        ended = both => match ended {
            Err(failure) if stop.is_cancelled() && failure.exit() == Exit::TurnFailed => {
                app.output.aside("Called off.");
                Ok(Exit::Interrupted)
            }
            ended => ended,
        },
        () = interrupted => Ok(Exit::Interrupted),
    }
}

/// Takes the turn and follows it. Whatever becomes of the following, the turn goes on to its end.
async fn take_and_follow(
    app: &App,
    local: &Local,
    run: Run,
    follower: &mut Follower<'_>,
    stop: CancellationToken,
) -> Result<Exit, Failure> {
    let mut taking = std::pin::pin!(server::take_turn(local, &app.client, run.id, stop));
    let mut following = std::pin::pin!(follower.follow(run));
    tokio::select! {
        taken = &mut taking => {
            if !taken?.status.is_over() {
                return Ok(Exit::Interrupted);
            }
            // The next look sees the end.
            following.await
        }
        followed = &mut following => {
            // Where it is not the run's own end that is told, the turn still goes on.
            let told = [Exit::TurnFailed, Exit::Refused];
            if let Err(failure) = &followed
                && !told.contains(&failure.exit())
            {
                app.output.aside("No longer followed; the turn goes on.");
            }
            taking.await?;
            followed
        }
    }
}

/// Asks for the newest attempt to be called off, so that it ends as that.
async fn call_off(app: &App, id: RunId) -> Result<(), Failure> {
    let newest = server::newest_attempt(&app.client, id).await?.run.id;
    app.client.cancel_run(&newest.to_string()).await?;
    Ok(())
}

fn queued(app: &App, run: &Run, waiting: Option<&Waiting>, served: bool) -> Result<Exit, Failure> {
    if app.output.json {
        app.output.document(&Followed { run, answer: None })?;
        return Ok(Exit::Done);
    }
    let who = match &app.whom {
        Whom::Elsewhere => "the server takes it up",
        _ if served => "whoever serves this data folder takes it up",
        _ => "nobody serves this data folder: start `matins serve`, and it is taken up",
    };
    app.output.line(&format!("Queued as {}; {who}.", run.id))?;
    if let Some(waiting) = waiting {
        app.output.aside(&waits(app, waiting));
    }
    Ok(Exit::Done)
}

/// Prints what becomes of a run.
struct Follower<'a> {
    app: &'a App,
    /// Whom it asks: as the command did, until that one stops.
    client: Client,
    /// What it opened when whoever served had stopped.
    opened: Option<Local>,
    transcript: Option<Transcript>,
    waiting: Option<Waiting>,
    /// The attempts so far: the end of one and the beginning of the next come together.
    attempts: Vec<RunId>,
    /// The attempt whose answer is being printed, and how many bytes of it are.
    streamed: (RunId, i64),
    answer: Option<String>,
    /// Whether the answer's last line is still open.
    mid_line: bool,
    /// The first failure to print. The run goes on, and is told then.
    broken: Option<OutputError>,
}

impl<'a> Follower<'a> {
    fn new(app: &'a App, run: &Run) -> Self {
        // What was said before may be long, and is not told.
        let from = MessagePart::FromRun(run.id);
        Self {
            app,
            client: app.client.clone(),
            opened: None,
            transcript: run.session_id.map(|it| Transcript::new(it, from)),
            waiting: None,
            attempts: vec![run.id],
            streamed: (run.id, 0),
            answer: None,
            mid_line: false,
            broken: None,
        }
    }

    /// Follows a run to its end. One that waits for a worker is left where nobody serves any more.
    async fn follow(&mut self, run: Run) -> Result<Exit, Failure> {
        loop {
            let newest = match self.look(run.id).await {
                Ok(newest) => newest,
                Err(client::Error::Unreachable { .. })
                    if matches!(self.app.whom, Whom::Server) && self.opened.is_none() =>
                {
                    self.open().await?;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            if newest.run.status.is_over() {
                if let Some(broken) = self.broken.take() {
                    return Err(broken.into());
                }
                return end(self.app, &newest.run, self.answer.as_deref());
            }
            if self.opened.is_some() && newest.waiting == Some(Waiting::Worker) {
                self.app
                    .output
                    .aside("Whoever served this data folder has stopped.");
                return queued(self.app, &newest.run, newest.waiting.as_ref(), false);
            }
            sleep(LOOK).await;
        }
    }

    /// Goes on without whoever served: turns that run there may still come to their end.
    async fn open(&mut self) -> Result<(), Failure> {
        let local = local::open(&self.app.config).await?;
        self.client = local.client_of(local.routes());
        self.opened = Some(local);
        Ok(())
    }

    /// Lets go of what it opened.
    async fn close(self) {
        if let Some(local) = self.opened {
            local.close().await;
        }
    }

    /// Looks at the newest attempt and tells what is new.
    async fn look(&mut self, run: RunId) -> Result<RunView, client::Error> {
        let newest = server::newest_attempt(&self.client, run).await?;
        if newest.waiting != self.waiting {
            if let Some(waiting) = &newest.waiting
                && *waiting != Waiting::Worker
            {
                self.app.output.aside(&waits(self.app, waiting));
            }
            self.waiting.clone_from(&newest.waiting);
        }
        let run = &newest.run;
        if self.streamed.0 != run.id {
            self.streamed = (run.id, 0);
            self.attempts.push(run.id);
        }
        if let Some(transcript) = &mut self.transcript {
            let news = match transcript.news(&self.client).await {
                // A run that its precheck declines takes the session along that it had for itself.
                Err(error) if error.kind() == Some(ProblemKind::NotFound) => Vec::new(),
                news => news?,
            };
            let told =
                |message: &&Message| message.run_id.is_some_and(|id| self.attempts.contains(&id));
            let news: Vec<_> = news.iter().filter(told).collect();
            for message in news {
                self.tell(message);
            }
        }
        if run.status == RunStatus::Running && self.app.output.is_watched() {
            let id = run.id.to_string();
            let live = self.client.live_text(&id, self.streamed.1).await?;
            self.streamed.1 = live.end;
            self.print(&clean(&live.text));
        }
        Ok(newest)
    }

    fn tell(&mut self, message: &Message) {
        let output = self.app.output;
        match message.speaker() {
            Speaker::Person | Speaker::Schedule => {}
            Speaker::Agent => {
                let shown = usize::try_from(self.streamed.1).unwrap_or(0);
                let rest = message.content.get(shown..).unwrap_or("").to_owned();
                if !output.json {
                    self.print(&format!("{}\n", clean(&rest)));
                }
                self.answer = Some(message.content.clone());
            }
            Speaker::Tool => self.aside(&format!("[{}]", clean(&message.content))),
            Speaker::Aside | Speaker::Matins => self.aside(&clean(&message.content)),
        }
    }

    /// Says something beside the answer, on a line of its own.
    fn aside(&mut self, text: &str) {
        if self.mid_line && self.app.output.is_watched() {
            self.print("\n");
        }
        self.app.output.aside(text);
    }

    fn print(&mut self, text: &str) {
        if let Some(last) = text.chars().next_back() {
            self.mid_line = last != '\n';
        }
        if self.broken.is_none()
            && let Err(error) = self.app.output.piece(text)
        {
            self.broken = Some(error);
        }
    }
}

/// Tells how a run ended.
fn end(app: &App, run: &Run, answer: Option<&str>) -> Result<Exit, Failure> {
    if app.output.json {
        app.output.document(&Followed { run, answer })?;
    }
    let hint = format!("`matins run show {}` tells all about it", run.id);
    let reason = run.message.as_deref().or(run.reason.as_deref());
    let reason = reason.unwrap_or("no reason was given");
    let failed = |exit, what: &str| {
        Err(Failure::message(exit, format!("{what}: {reason}")).with_hint(hint.clone()))
    };
    match run.status {
        RunStatus::Succeeded => {
            flags(app, run.flags);
            Ok(Exit::Done)
        }
        RunStatus::Skipped => failed(Exit::Refused, "run the automation, it was skipped"),
        RunStatus::Cancelled => failed(Exit::TurnFailed, "end the turn, it was called off"),
        _ => failed(Exit::TurnFailed, "take the turn"),
    }
}

fn flags(app: &App, flags: RunFlags) {
    if flags.empty_answer {
        app.output.aside("The agent gave no answer.");
    }
    if flags.precheck_unclear {
        app.output.aside(
            "The precheck did not say whether to take the turn: it ended neither with 0 nor with 1.",
        );
    }
    if flags.permissions_denied > 0 {
        app.output.aside(&format!(
            "Permissions denied: {}. Rules of the harness or the automation (--allow) grant them.",
            flags.permissions_denied
        ));
    }
}

/// What a run waits for, as a sentence.
pub(crate) fn waits(app: &App, waiting: &Waiting) -> String {
    match waiting {
        Waiting::Worker => "It waits for a worker.".into(),
        Waiting::Backoff { until } => format!(
            "It waits until {}, because it failed before.",
            app.time.date_time(*until)
        ),
        Waiting::Budget { reason, .. } => format!("It waits, because {reason}."),
        Waiting::Session { state } => format!("It waits, because its session is {state}."),
        Waiting::Run {
            run,
            status,
            origin,
        } => {
            let whose = match origin {
                Origin::Person => "a person's words",
                Origin::Occurrence => "a scheduled turn",
                Origin::Task => "a task",
                Origin::Message => "a message",
            };
            format!("It waits for {run} ({whose}, {status}).")
        }
        Waiting::Approval { approval, title } => format!(
            "It waits for approval of {title:?}: `matins approval allow {approval}`, or deny."
        ),
        Waiting::Turn => "It waits for its turn among those that wait.".into(),
    }
}
