//! Reads the trace of a session until one of its runs ends.
//!
//! The trace delivers pieces of the answer, rows of the transcript, and each change of a run, an approval or the
//! session. The follower reads the run again after such a change, because the log does not contain the condition that
//! the run waits for. A run may wait for a condition outside of its session, such as a budget or a run of another
//! session. Only in that case does the follower poll the run, once a second.

use std::{pin::Pin, time::Duration};

use api_types::{
    BlockedOn, Message, ProblemKind, Run, RunView, TraceDelta, TraceEvent, TraceMessage,
};
use client::{Client, Error, MessageRange, ReceivedEvent, TraceItem, TraceSubject};
use futures::{Stream, StreamExt as _, stream};
use model::{
    RunId, SessionId,
    transcript::{Speaker, seat_message_names},
};
use server::LocalInstance;
use tokio::time::sleep;

use super::blocked_on::format_blocked_on;
use crate::{
    app::{App, Target},
    conversation::Transcript,
    data_folder,
    error::CliError,
    output::{CONTINUATION_COLUMNS, OutputError, clean, continued, one_line},
};

/// The interval at which the follower polls a run whose condition may lie outside of its session.
const RECHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The interval at which the follower reads the run while the trace is silent, because a proxy may hold back a stream.
const TRACE_RECHECK_INTERVAL: Duration = Duration::from_secs(5);

/// The continuing trace of a session.
type Events = Pin<Box<dyn Stream<Item = Result<TraceItem, Error>> + Send>>;

/// The way in which following a run ended.
pub(super) enum FollowOutcome {
    /// The last attempt is over.
    Finished {
        run: Box<Run>,
        answer: Option<String>,
    },
    /// The run waits for a worker, and the server of the data folder has stopped.
    ServerStopped(Box<RunView>),
    /// A budget has deferred the run of an automation, and has paused the automation.
    OverBudget { run: Box<Run>, reason: String },
}

/// Prints the progress of a run.
pub(super) struct Follower<'a> {
    app: &'a App,
    /// The client of the API: that of the command until its server stops.
    client: Client,
    /// The data folder, opened after its server stopped.
    opened_folder: Option<LocalInstance>,
    transcript: Option<Transcript>,
    blocked_on: Option<BlockedOn>,
    /// The attempts so far. An attempt may end and its retry begin between two reads.
    attempts: Vec<RunId>,
    /// The attempt whose answer is being printed, and the number of its bytes that are printed.
    streamed: (RunId, i64),
    answer: Option<String>,
    /// `true` if the last printed line of the answer has no line break yet.
    mid_line: bool,
    /// The first error of printing. The run continues, and the error is reported at its end.
    output_error: Option<OutputError>,
}

impl<'a> Follower<'a> {
    pub(super) fn new(app: &'a App, run: &Run) -> Self {
        // Earlier messages may be long, and are not printed.
        let from = MessageRange::FromRun(run.id);
        Self {
            app,
            client: app.client.clone(),
            opened_folder: None,
            transcript: run.session_id.map(|it| Transcript::new(it, from)),
            blocked_on: None,
            attempts: vec![run.id],
            streamed: (run.id, 0),
            answer: None,
            mid_line: false,
            output_error: None,
        }
    }

    /// Follows a run until it ends. If the server of the data folder stops, continues without it and returns when the
    /// run waits for a worker.
    pub(super) async fn follow(&mut self, run: &Run) -> Result<FollowOutcome, CliError> {
        let ended = loop {
            match self.read_trace(run).await {
                Err(Error::Unreachable { .. })
                    if matches!(self.app.target, Target::Local) && self.opened_folder.is_none() =>
                {
                    self.open_data_folder().await?;
                }
                ended => break ended?,
            }
        };
        match self.output_error.take() {
            Some(broken) if matches!(ended, FollowOutcome::Finished { .. }) => Err(broken.into()),
            _ => Ok(ended),
        }
    }

    /// Opens the data folder after its server has stopped. A turn that the server still runs may come to its end.
    async fn open_data_folder(&mut self) -> Result<(), CliError> {
        let local = data_folder::open(&self.app.config).await?;
        self.client = local.in_process_client(local.routes());
        self.opened_folder = Some(local);
        Ok(())
    }

    /// Closes the data folder if the follower opened it.
    pub(super) async fn close(self) {
        if let Some(local) = self.opened_folder {
            local.close().await;
        }
    }

    /// Reads the trace until the run ends. Fails if the API cannot be reached.
    async fn read_trace(&mut self, run: &Run) -> Result<FollowOutcome, Error> {
        // Start the trace before the first read of the run, so that no change between the two is missed.
        let mut events = match run.session_id {
            Some(session) => self.events(session).await?,
            None => None,
        };
        if let Some(ended) = self.poll_run(run.id).await? {
            return Ok(ended);
        }
        self.print_new_messages().await?;
        loop {
            self.wait_for_change(&mut events).await?;
            if let Some(ended) = self.poll_run(run.id).await? {
                return Ok(ended);
            }
        }
    }

    /// Starts the trace of a session. Returns `None` if the session does not exist: a run whose precheck declines the
    /// turn deletes the session that was created for it.
    async fn events(&self, session: SessionId) -> Result<Option<Events>, Error> {
        let session = session.to_string();
        let last_seq = match self.client.session(&session).await {
            Ok(view) => view.value.session.last_seq,
            Err(error) if error.kind() == Some(ProblemKind::NotFound) => return Ok(None),
            Err(error) => return Err(error),
        };
        let trace = self
            .client
            .trace(TraceSubject::Session(session), Some(last_seq.to_string()));
        let events = stream::unfold(trace, async |mut trace| {
            let news = trace.next().await;
            Some((news, trace))
        });
        Ok(Some(Box::pin(events)))
    }

    /// Prints events of the trace until the run must be read again.
    async fn wait_for_change(&mut self, events: &mut Option<Events>) -> Result<(), Error> {
        let waits_elsewhere = self
            .blocked_on
            .as_ref()
            .is_some_and(|it| !matches!(it, BlockedOn::Approval { .. } | BlockedOn::Answer { .. }));
        let interval = if waits_elsewhere {
            RECHECK_INTERVAL
        } else {
            TRACE_RECHECK_INTERVAL
        };
        loop {
            let Some(trace) = events else {
                sleep(RECHECK_INTERVAL).await;
                return Ok(());
            };
            let news = tokio::select! {
                news = trace.next() => news,
                () = sleep(interval) => return Ok(()),
            };
            match news {
                Some(Ok(TraceItem::Event(event))) => {
                    if self.handle_event(&event) {
                        return Ok(());
                    }
                }
                // Return, because the next request shows whether the API is still reachable. The trace reconnects by
                // itself.
                Some(Ok(TraceItem::Disconnected { cause: why, .. })) => {
                    tracing::debug!(error = %why, "the trace was disconnected");
                    return Ok(());
                }
                Some(Err(error)) if error.kind() == Some(ProblemKind::NotFound) => *events = None,
                Some(Err(error)) => return Err(error),
                None => *events = None,
            }
        }
    }

    /// Handles an event. Returns `true` if the run must be read again.
    fn handle_event(&mut self, received: &ReceivedEvent) -> bool {
        match &received.event {
            Some(TraceEvent::Delta(delta)) => self.print_delta(delta),
            Some(TraceEvent::Message(TraceMessage {
                message: Some(message),
                ..
            })) => {
                let is_new = self
                    .transcript
                    .as_mut()
                    .is_some_and(|it| it.mark_delivered(message.id));
                if is_new {
                    self.print_message(message);
                }
            }
            Some(TraceEvent::Approval(event)) => return self.attempts.contains(&event.run_id),
            Some(
                TraceEvent::Run(_)
                | TraceEvent::Session(_)
                | TraceEvent::Resync(_)
                | TraceEvent::SessionDeleted(_),
            ) => return true,
            _ => {}
        }
        false
    }

    /// Reads the newest attempt and prints the condition that it waits for. Returns the result if the attempt is
    /// over.
    async fn poll_run(&mut self, run: RunId) -> Result<Option<FollowOutcome>, Error> {
        let newest = server::newest_attempt(&self.client, run).await?;
        // Do not wait, because the run begins in the next period at the earliest, or never if the budget has an unknown
        // currency.
        if newest.run.automation_id.is_some()
            && let Some(BlockedOn::Budget { reason, .. }) = newest.blocked_on
        {
            let run = Box::new(newest.run);
            return Ok(Some(FollowOutcome::OverBudget { run, reason }));
        }
        if newest.blocked_on != self.blocked_on {
            if let Some(waiting) = &newest.blocked_on
                && *waiting != BlockedOn::Worker
            {
                self.app.output.aside(&format_blocked_on(self.app, waiting));
            }
            self.blocked_on.clone_from(&newest.blocked_on);
        }
        if self.streamed.0 != newest.run.id {
            self.streamed = (newest.run.id, 0);
            let of_input = newest.attempts.iter().map(|attempt| attempt.id);
            self.attempts = of_input.skip_while(|id| *id != run).collect();
        }
        if newest.run.status.is_over() {
            // The end of the run may be read before the trace has delivered the last rows of the transcript.
            self.print_new_messages().await?;
            return Ok(Some(FollowOutcome::Finished {
                run: Box::new(newest.run),
                answer: self.answer.take(),
            }));
        }
        let is_left = self.opened_folder.is_some() && newest.blocked_on == Some(BlockedOn::Worker);
        Ok(is_left.then(|| FollowOutcome::ServerStopped(Box::new(newest))))
    }

    /// Reads and prints the rows of the transcript that are not printed yet.
    async fn print_new_messages(&mut self) -> Result<(), Error> {
        let Some(transcript) = &mut self.transcript else {
            return Ok(());
        };
        let news = match transcript.new_messages(&self.client).await {
            Err(error) if error.kind() == Some(ProblemKind::NotFound) => Vec::new(),
            news => news?,
        };
        for message in &news {
            self.print_message(message);
        }
        Ok(())
    }

    /// Prints the unprinted part of a piece of the answer, if standard output is a terminal.
    fn print_delta(&mut self, delta: &TraceDelta) {
        let (run, shown) = self.streamed;
        if delta.run_id != run || !self.app.output.is_interactive() {
            return;
        }
        // After a reconnect the trace repeats earlier pieces. After a gap the piece is skipped: the complete answer
        // follows as a message.
        let skipped = usize::try_from(shown - delta.position).ok();
        let Some(text) = skipped.and_then(|skipped| delta.text.get(skipped..)) else {
            return;
        };
        let printed = clean(text).into_owned();
        self.streamed.1 += i64::try_from(text.len()).unwrap_or(0);
        self.print(&printed);
    }

    /// Prints a row of the transcript if it belongs to this run.
    fn print_message(&mut self, message: &Message) {
        if !message.run_id.is_some_and(|id| self.attempts.contains(&id)) {
            return;
        }
        let output = self.app.output;
        match message.speaker() {
            Speaker::Person | Speaker::Schedule | Speaker::Task => {}
            Speaker::Agent => {
                // The beginning of the answer may be printed from deltas already, so print the rest alone.
                let shown = usize::try_from(self.streamed.1).unwrap_or(0);
                let rest = message.content.get(shown..).unwrap_or("").to_owned();
                if !output.json {
                    self.print(&format!("{}\n", clean(&rest)));
                }
                self.answer = Some(message.content.clone());
            }
            Speaker::Tool => self.print_aside(&format!("[{}]", one_line(&message.content))),
            Speaker::Seat => {
                let (from, to) = seat_message_names(&message.metadata).unwrap_or_default();
                let text = format!("[{from} to {to}: {}]", message.content);
                self.print_aside(&one_line(&text));
            }
            Speaker::AgentThought | Speaker::Matins => {
                self.print_aside(&continued(&message.content, CONTINUATION_COLUMNS));
            }
        }
    }

    /// Prints a remark to standard error, on a line of its own.
    fn print_aside(&mut self, text: &str) {
        if self.mid_line && self.app.output.is_interactive() {
            self.print("\n");
        }
        self.app.output.aside(text);
    }

    /// Prints a text. After the first error prints nothing more, so that the run is still followed to its end.
    fn print(&mut self, text: &str) {
        if let Some(last) = text.chars().next_back() {
            self.mid_line = last != '\n';
        }
        if self.output_error.is_none()
            && let Err(error) = self.app.output.piece(text)
        {
            self.output_error = Some(error);
        }
    }
}
