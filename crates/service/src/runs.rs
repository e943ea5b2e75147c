//! Runs: listing, reading, retrying and cancelling.

use api_types::{
    LiveText, MAX_LISTED_CHARS, OwnToolsRule, Page, RunCancelled, RunDelivery, RunFilterRequest,
    RunItem, RunNames, RunView,
};
use delivery::TriggerName;
use model::{
    InputId, RunId,
    entity::{Run, RunRecord},
    owner::RunOwner,
    run::{RunSource, RunStatus},
    tools::ToolAccess,
    turn::SubmittedRun,
};
use store::RunFilter;

use crate::{Error, Service, boxed, naming, sessions};

/// The filters and the page of a list of runs.
#[derive(Debug, Clone, Default)]
pub struct RunQuery {
    /// The filters.
    pub selection: RunFilterRequest,
    /// `true` to list only occurrences, including skipped and missed ones.
    pub occurrences: bool,
    /// `true` to list each attempt at an input. Otherwise the last attempt stands for the input.
    pub all_attempts: bool,
    /// The last run of the previous page.
    pub after: Option<RunId>,
    /// The highest number of runs on the page.
    pub limit: u32,
}

impl Service {
    /// Lists runs with their names, the newest first.
    #[boxed]
    pub async fn runs(&self, query: &RunQuery) -> Result<Page<RunItem>, Error> {
        let filter = RunFilter {
            occurrences_only: query.occurrences,
            last_attempts_only: !query.all_attempts,
            ..self.run_filter(&query.selection).await?
        };
        let page = store::Page {
            after: query.after,
            limit: query.limit + 1,
        };
        let found = self
            .store
            .named_run_page(self.scope(), &filter, page, MAX_LISTED_CHARS)
            .await?;
        let page = Page::of(found, query.limit, |(run, _)| run.id.to_string());
        Ok(page.map(|(run, names)| run_item(run, names)))
    }

    /// Returns the filter of a selection: its session, its automation and its instance are found by what the caller gave.
    pub(crate) async fn run_filter(
        &self,
        selection: &RunFilterRequest,
    ) -> Result<RunFilter, Error> {
        let session = match &selection.session {
            Some(given) => Some(self.find_session(given).await?.id),
            None => None,
        };
        let automation = match &selection.automation {
            Some(given) => Some(self.find_automation(given).await?.id),
            None => None,
        };
        let instance = match &selection.instance {
            Some(given) => Some(self.find_instance(given).await?),
            None => None,
        };
        Ok(RunFilter {
            session,
            automation,
            instance,
            statuses: selection.status.clone(),
            origin: selection.origin,
            reason: selection.reason.clone(),
            created_from: selection.from,
            created_before: selection.to,
            occurrences_only: false,
            last_attempts_only: true,
        })
    }

    /// Returns one run with its attempts, its answer and the names of its objects, by its ID or an ID prefix.
    #[boxed]
    pub async fn run(&self, given: &str) -> Result<RunView, Error> {
        let id = self.find_run(given).await?;
        let run = self.store.run(self.scope(), id).await?;
        let record = self.store.run_record(self.scope(), id).await?;
        // The transaction that ends such a run also writes its record. An ended run without one has therefore lost it
        // to retention.
        let ended = matches!(
            run.status(),
            RunStatus::Succeeded | RunStatus::Failed | RunStatus::Cancelled | RunStatus::Stalled
        );
        let attempts = self.store.attempts(self.scope(), run.input_id).await?;
        let names = self.store.run_names(self.scope(), id).await?;
        Ok(RunView {
            source: source(&run, &names),
            names: run_names(names),
            blocked_on: self.blocked_on(&run).await?,
            attempts: attempts.into_iter().map(Into::into).collect(),
            record_trimmed: ended && record.is_none(),
            own_tools: self.own_tools_rule(&run).await?,
            delivery: self.run_delivery(id).await?,
            run: run.into(),
        })
    }

    /// Returns the delivery of a run into the folder of its instance.
    async fn run_delivery(&self, run: RunId) -> Result<Option<RunDelivery>, Error> {
        let file = self.store.trigger_file(self.scope(), run).await?;
        Ok(file.map(|file| RunDelivery {
            instance: file.instance,
            file: TriggerName::new(file.named_at, file.run)
                .map_or_else(String::new, |name| name.to_string()),
            delivered_at: file.written_at,
            writes: file.writes,
            failures: file.failures,
            error: file.error,
        }))
    }

    /// Returns the built-in rule for the tools of Matins in a turn of a run. Returns `None` if its agent is removed.
    async fn own_tools_rule(&self, run: &Run) -> Result<Option<OwnToolsRule>, Error> {
        let automation = match run.automation_id {
            Some(id) => found(self.store.automation(self.scope(), id).await)?,
            None => None,
        };
        let seats = match run.session_id {
            Some(session) => self.store.seats(self.scope(), session).await?,
            None => Vec::new(),
        };
        let seat = seats.iter().find(|seat| Some(seat.id) == run.seat_id);
        let agent = seat
            .map(|seat| seat.agent_id)
            .or_else(|| automation.as_ref().map(|automation| automation.agent_id));
        let agent = match agent {
            Some(id) => found(self.store.agent(self.scope(), id).await)?,
            None => None,
        };
        Ok(agent.map(|agent| {
            let owner = RunOwner::new(run.origin, automation.as_ref());
            let tools = agent.config.tools.min(owner.policies().tools);
            let titles = match tools {
                ToolAccess::None => Vec::new(),
                ToolAccess::Read | ToolAccess::All => agent.config.own_tools,
            };
            OwnToolsRule { tools, titles }
        }))
    }

    /// Returns the internal record of a run, by its ID or an ID prefix. Returns `None` if there is none.
    #[boxed]
    pub async fn run_record(&self, given: &str) -> Result<Option<RunRecord>, Error> {
        let id = self.find_run(given).await?;
        Ok(self.store.run_record(self.scope(), id).await?)
    }

    /// Returns one run.
    #[boxed]
    pub async fn run_by_id(&self, id: RunId) -> Result<Run, Error> {
        Ok(self.store.run(self.scope(), id).await?)
    }

    /// Returns the text that a running turn has written after a position, in bytes. The text is empty once the turn
    /// has ended, because it is then part of the transcript.
    #[boxed]
    pub async fn live_text(&self, given: &str, from: i64) -> Result<LiveText, Error> {
        let id = self.find_run(given).await?;
        let (text, end) = self.store.live_text(self.scope(), id, from).await?;
        Ok(LiveText { text, end })
    }

    /// Retries a run that is over and did not succeed. With a reserved ID for the `attempt`, a repeated request
    /// returns the attempt that the first one has created.
    #[boxed]
    pub async fn retry_run(&self, given: &str, attempt: Option<RunId>) -> Result<Run, Error> {
        let id = self.find_run(given).await?;
        let now = self.now();
        let retried = self.store.retry_run(self.scope(), id, attempt, now).await;
        match (retried, attempt) {
            (Ok(retried), _) => self.run_by_id(retried.run_id).await,
            (Err(store::Error::AlreadyCreated { .. }), Some(attempt)) => {
                self.run_by_id(attempt).await
            }
            (Err(error), _) => Err(error.into()),
        }
    }

    /// Changes the text of a message that waits, if the text is still `seen`.
    #[boxed]
    pub async fn edit_message(&self, id: RunId, seen: &str, to: &str) -> Result<RunView, Error> {
        naming::validate_content("content", to)?;
        self.store
            .edit_message(self.scope(), id, seen, to, self.now())
            .await?;
        self.run(&id.to_string()).await
    }

    /// Cancels a run, by its ID or an ID prefix: at once if no worker has it, otherwise as soon as its agent has
    /// stopped. Returns the status after the request.
    #[boxed]
    pub async fn cancel_run(&self, given: &str) -> Result<RunCancelled, Error> {
        let run = self.find_run(given).await?;
        self.cancel_run_by_id(run).await
    }

    pub(crate) async fn cancel_run_by_id(&self, run_id: RunId) -> Result<RunCancelled, Error> {
        let status = self
            .store
            .cancel_run(self.scope(), run_id, sessions::CANCEL_REASON, self.now())
            .await?;
        Ok(RunCancelled { run_id, status })
    }

    /// Returns the first run of an input with a reserved ID. Returns `None` if no ID is reserved, or if the input
    /// does not exist yet. Callers check this before the request's other conditions, because these may have changed
    /// since the first request.
    pub(crate) async fn first_run_of_input(
        &self,
        input: Option<InputId>,
    ) -> Result<Option<Run>, Error> {
        let Some(input) = input else { return Ok(None) };
        let attempts = self.store.attempts(self.scope(), input).await?;
        Ok(attempts.into_iter().next())
    }

    /// Returns the run of an input, whether this request or an earlier one with the same reserved ID has created it.
    pub(crate) async fn run_of_input(
        &self,
        reserved: Option<InputId>,
        submitted: Result<SubmittedRun, store::Error>,
    ) -> Result<Run, Error> {
        let error = match submitted {
            Ok(submitted) => return self.run_by_id(submitted.run_id).await,
            Err(error) => error,
        };
        let (store::Error::AlreadyCreated { .. }, Some(input)) = (&error, reserved) else {
            return Err(error.into());
        };
        // The run no longer exists if its session was deleted after the store refused the ID.
        let first = self.first_run_of_input(reserved).await?;
        first.ok_or_else(|| Error::NotFound {
            what: "run of the input",
            given: input.to_string(),
            nearest: None,
        })
    }
}

/// Returns an object, or `None` if it does not exist.
fn found<T>(read: Result<T, store::Error>) -> Result<Option<T>, Error> {
    match read {
        Ok(object) => Ok(Some(object)),
        Err(store::Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the item of a list for a run.
pub(crate) fn run_item(mut run: Run, names: store::RunNames) -> RunItem {
    if let Some((end, _)) = run.content.char_indices().nth(MAX_LISTED_CHARS) {
        run.content.truncate(end);
    }
    RunItem {
        source: source(&run, &names),
        run: run.into(),
        waits_for_approval: names.waits_for_approval,
        waits_for_answer: names.waits_for_answer,
        names: run_names(names),
    }
}

fn source(run: &Run, names: &store::RunNames) -> RunSource {
    let in_channel = names.channel.is_some();
    RunSource::of(run.origin, names.trigger_kind.as_deref(), in_channel)
}

fn run_names(names: store::RunNames) -> RunNames {
    let store::RunNames {
        automation_name,
        session_title,
        agent_name,
        seat_name,
        instance_name,
        trigger_kind: _,
        channel,
        answer,
        waits_for_approval: _,
        waits_for_answer: _,
    } = names;
    RunNames {
        automation_name,
        session_title,
        channel,
        agent_name,
        seat_name,
        instance_name,
        answer,
    }
}
