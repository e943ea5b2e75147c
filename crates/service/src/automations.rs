//! Automations: listing, reading, firing, pausing, resuming, resetting and deleting.

use std::{cmp::Reverse, collections::BTreeMap};

use api_types::{
    AutomationCounts, AutomationDeleted, AutomationItem, AutomationPage, AutomationView, Count,
    NewerFormat, Page, RunOutcome, UnreadableAutomation,
};
use model::{
    AutomationId, InputId,
    automation::AutomationState,
    entity::{Automation, Run},
};
use store::{
    AutomationFilter, AutomationRank, AutomationSort, CorruptAutomation, RunFilter, SessionDeletion,
};

use crate::{
    Error, Service, boxed,
    upcoming_runs::{self, MAX_UPCOMING_RUNS},
};

/// The number of an automation's newest runs that are returned with it.
const MAX_LAST_RUNS: u32 = 10;
/// The number of sessions that are deleted before the list of the remaining ones is read again.
const DELETE_BATCH_SIZE: u32 = 500;

/// The filters and the page of a list of automations.
#[derive(Debug, Clone, Default)]
pub struct AutomationQuery {
    /// The automation state.
    pub state: Option<AutomationState>,
    /// A text that the name contains.
    pub text: Option<String>,
    /// The session that receives the turns: its key, its ID or an ID prefix. In unified mode, the list for a web chat
    /// also contains the automations of the unified conversation.
    pub session: Option<String>,
    /// `true` to list only automations that need a person. Such a list is sorted.
    pub attention: bool,
    /// The order of the list, with the last automation of the previous page.
    pub order: AutomationOrder,
    /// The highest number of automations on the page.
    pub limit: u32,
    /// The highest number of newest runs that are listed with each automation.
    pub outcomes: u32,
}

/// The order of a list of automations, with the last automation of the previous page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AutomationOrder {
    /// The newest automation first.
    Made(Option<AutomationId>),
    /// The order that a person chose.
    Sorted(AutomationSort, Option<AutomationRank>),
}

impl Default for AutomationOrder {
    fn default() -> Self {
        Self::Made(None)
    }
}

/// An automation of a list, which may be corrupt.
enum ListedAutomation {
    Readable(Box<store::AutomationItem>),
    Corrupt(CorruptAutomation),
}

impl ListedAutomation {
    const fn id(&self) -> AutomationId {
        match self {
            Self::Readable(item) => item.automation.id,
            Self::Corrupt(broken) => broken.id,
        }
    }
}

impl Service {
    /// Lists automations. Corrupt automations are listed with their errors, so that one of them
    /// cannot hide the others.
    #[boxed]
    pub async fn automations(&self, query: &AutomationQuery) -> Result<AutomationPage, Error> {
        let filter = self.automation_filter(query).await?;
        let after = match &query.order {
            AutomationOrder::Made(after) => *after,
            AutomationOrder::Sorted(sort, after) => {
                let order = (*sort, after.clone());
                return self.sorted_automations(query, &filter, order).await;
            }
        };
        let page = store::Page {
            after,
            limit: query.limit + 1,
        };
        let found = self
            .store
            .automation_items(self.tenant, &filter, page, query.outcomes)
            .await?;
        // Merge both kinds before the page is cut, so that the cursor of the next page counts both.
        let readable = found
            .readable
            .into_iter()
            .map(|item| ListedAutomation::Readable(Box::new(item)));
        let unreadable = found.corrupt.into_iter().map(ListedAutomation::Corrupt);
        let mut all: Vec<_> = readable.chain(unreadable).collect();
        all.sort_by_key(|listed| Reverse(listed.id()));
        let page = Page::of(all, query.limit, |listed| listed.id().to_string());
        let mut list = AutomationPage {
            next: page.next,
            ..AutomationPage::default()
        };
        for listed in page.items {
            self.add_to_page(&mut list, listed)?;
        }
        Ok(list)
    }

    /// Lists automations in the order that a person chose.
    async fn sorted_automations(
        &self,
        query: &AutomationQuery,
        filter: &AutomationFilter,
        order: (AutomationSort, Option<AutomationRank>),
    ) -> Result<AutomationPage, Error> {
        if query.state == Some(AutomationState::Deleted) {
            let problem =
                "a sorted list has no deleted automations: accepted are enabled and paused";
            return Err(Error::invalid("state", "deleted", problem));
        }
        let found = self
            .store
            .sorted_automation_items(
                self.tenant,
                filter,
                query.attention,
                order,
                query.limit,
                query.outcomes,
            )
            .await?;
        let mut list = AutomationPage {
            next: found.next.map(|rank| rank.to_string()),
            counts: Some(AutomationCounts {
                all: Count::of_read(found.numbers.all),
                enabled: Count::of_read(found.numbers.enabled),
                paused: Count::of_read(found.numbers.paused),
                attention: Count::of_read(found.numbers.attention),
            }),
            ..AutomationPage::default()
        };
        for item in found.items.readable {
            self.add_to_page(&mut list, ListedAutomation::Readable(Box::new(item)))?;
        }
        for corrupt in found.items.corrupt {
            self.add_to_page(&mut list, ListedAutomation::Corrupt(corrupt))?;
        }
        Ok(list)
    }

    async fn automation_filter(&self, query: &AutomationQuery) -> Result<AutomationFilter, Error> {
        Ok(AutomationFilter {
            state: query.state,
            text: query.text.clone(),
            session: match &query.session {
                Some(given) => Some(self.session_filter(given).await?),
                None => None,
            },
        })
    }

    /// Adds an automation to a page: to the items, or to the unreadable ones.
    fn add_to_page(
        &self,
        page: &mut AutomationPage,
        listed: ListedAutomation,
    ) -> Result<(), Error> {
        let (id, name, unreadable) = match listed {
            ListedAutomation::Readable(item) => {
                let (id, name) = (item.automation.id, item.automation.name.clone());
                match self.automation_item(*item) {
                    Ok(item) => {
                        page.items.push(item);
                        return Ok(());
                    }
                    Err(error) if error.is_corrupt() => (id, name, error.chain()),
                    Err(error) => return Err(error),
                }
            }
            ListedAutomation::Corrupt(broken) => (broken.id, broken.name, broken.error.chain()),
        };
        page.unreadable.push(UnreadableAutomation {
            id,
            name,
            unreadable,
        });
        Ok(())
    }

    pub(crate) fn automation_item(
        &self,
        item: store::AutomationItem,
    ) -> Result<AutomationItem, Error> {
        let store::AutomationItem {
            automation,
            agent,
            session,
            triggers,
            outcomes,
            removed_instance,
        } = item;
        let next_run = upcoming_runs::next_of_automation(&automation, &triggers, self.now())?;
        let newer_format = newer_format(&automation);
        Ok(AutomationItem {
            id: automation.id,
            name: automation.name,
            state: automation.state,
            pause_reason: automation.pause_reason,
            attention: automation.attention,
            newer_format,
            agent,
            removed_instance,
            session_mode: automation.session_mode,
            session_id: session,
            placed_on: automation.placed_on,
            triggers: triggers.into_iter().map(Into::into).collect(),
            next_run,
            consecutive_failures: automation.consecutive_failures,
            outcomes: outcomes.into_iter().map(run_outcome).collect(),
            created_at: automation.created_at,
            updated_at: automation.updated_at,
        })
    }

    /// Returns the names of all automations by ID, including corrupt ones.
    #[boxed]
    pub async fn automation_names(&self) -> Result<BTreeMap<AutomationId, String>, Error> {
        let found = self.store.automations(self.scope()).await?;
        let readable = found.readable.into_iter().map(|it| (it.id, it.name));
        let unreadable = found.corrupt.into_iter().map(|it| (it.id, it.name));
        Ok(readable.chain(unreadable).collect())
    }

    /// Returns one automation, by its name, its ID or an ID prefix.
    #[boxed]
    pub async fn automation(&self, given: &str) -> Result<AutomationView, Error> {
        self.automation_view(self.find_automation(given).await?)
            .await
    }

    /// Creates an occurrence now and returns its run. The schedules of the triggers stay as they are. With a reserved
    /// ID for the `input`, a repeated request does not create another occurrence.
    #[boxed]
    pub async fn fire(&self, given: &str, input: Option<InputId>) -> Result<Run, Error> {
        if let Some(run) = self.first_run_of_input(input).await? {
            return Ok(run);
        }
        let automation = self.find_automation(given).await?.id;
        let now = self.now();
        let fired = self
            .store
            .fire_automation(self.tenant, automation, input, now);
        self.run_of_input(input, fired.await).await
    }

    /// Pauses an automation. It skips the instants that pass while it is paused, also after it is resumed.
    #[boxed]
    pub async fn pause_automation(&self, given: &str) -> Result<AutomationView, Error> {
        let id = self.find_automation(given).await?.id;
        self.store
            .pause_automation(self.scope(), id, store::PAUSED_BY_PERSON, self.now())
            .await?;
        self.automation(&id.to_string()).await
    }

    /// Resumes an automation. Its triggers are due from now on.
    #[boxed]
    pub async fn resume_automation(&self, given: &str) -> Result<AutomationView, Error> {
        let id = self.find_automation(given).await?.id;
        self.store
            .resume_automation(self.scope(), id, self.now())
            .await?;
        self.automation(&id.to_string()).await
    }

    /// Detaches an automation from its current session. The next run creates another one, and the old session stays.
    #[boxed]
    pub async fn reset_automation(&self, given: &str) -> Result<AutomationView, Error> {
        let id = self.find_automation(given).await?.id;
        self.store
            .reset_automation(self.scope(), id, self.now())
            .await?;
        self.automation(&id.to_string()).await
    }

    /// Deletes an automation. Its sessions stay unless `with_sessions` is set. A session to which another automation
    /// is bound always stays.
    #[boxed]
    pub async fn delete_automation(
        &self,
        given: &str,
        with_sessions: bool,
    ) -> Result<AutomationDeleted, Error> {
        // Only the ID and the name are read, so that a corrupt automation can be deleted.
        let (automation_id, name) = self.identify_automation(given).await?;
        self.store
            .delete_automation(self.scope(), automation_id, self.now())
            .await?;
        let mut deleted = AutomationDeleted {
            automation_id,
            name,
            sessions_deleted: 0,
            sessions_kept: Vec::new(),
        };
        if with_sessions {
            self.delete_created_sessions(&mut deleted).await?;
        }
        Ok(deleted)
    }

    async fn delete_created_sessions(&self, deleted: &mut AutomationDeleted) -> Result<(), Error> {
        loop {
            // Sessions that must stay are listed again each time. Read that many more, so that each round finds new
            // ones and the loop ends.
            let kept = u32::try_from(deleted.sessions_kept.len()).unwrap_or(u32::MAX);
            let limit = DELETE_BATCH_SIZE.saturating_add(kept);
            let automation = Some(deleted.automation_id);
            let mut remaining = self
                .store
                .sessions(self.scope(), None, automation, limit)
                .await?;
            remaining.retain(|session| !deleted.sessions_kept.contains(&session.id));
            if remaining.is_empty() {
                return Ok(());
            }
            for session in remaining {
                let now = self.now();
                let deletion = self
                    .store
                    .delete_session(self.tenant, session.id, false, now);
                match deletion.await? {
                    SessionDeletion::Deleted { .. } => deleted.sessions_deleted += 1,
                    SessionDeletion::BlockedBy(_) => deleted.sessions_kept.push(session.id),
                }
            }
        }
    }

    pub(crate) async fn automation_view(
        &self,
        automation: Automation,
    ) -> Result<AutomationView, Error> {
        let scope = self.scope();
        let triggers = self.store.triggers(scope, automation.id).await?;
        let filter = RunFilter {
            automation: Some(automation.id),
            last_attempts_only: true,
            ..RunFilter::default()
        };
        let session = match (automation.current_session_id, &automation.bound_session_key) {
            (Some(id), _) => match self.store.session(scope, id).await {
                // The session was deleted after the automation was read.
                Err(store::Error::NotFound { .. }) => None,
                found => Some(found?),
            },
            (None, Some(key)) => self.store.session_by_key(self.tenant, key).await?,
            (None, None) => None,
        };
        let last_runs = self.store.runs(scope, filter, MAX_LAST_RUNS).await?;
        let instance = match automation.placed_on {
            Some(id) => self.instance(&id.to_string()).await.ok(),
            None => None,
        };
        Ok(AutomationView {
            agent: self.store.agent(scope, automation.agent_id).await?.name,
            instance: instance.map(|instance| instance.name),
            removed_instance: self.removed_instance(automation.placed_on).await?,
            newer_format: newer_format(&automation),
            overlap: automation.policies.overlap(automation.session_mode),
            upcoming_runs: upcoming_runs::upcoming_of_automation(
                &automation,
                &triggers,
                self.now(),
                MAX_UPCOMING_RUNS,
            )?,
            last_runs: last_runs.into_iter().map(Into::into).collect(),
            triggers: triggers.into_iter().map(Into::into).collect(),
            session: session.map(Into::into),
            automation: automation.into(),
        })
    }
}

/// Returns the format that the documents of an automation need, if this version does not support it.
fn newer_format(automation: &Automation) -> Option<NewerFormat> {
    (automation.needs_format > store::DOCUMENT_FORMAT).then_some(NewerFormat {
        needed: automation.needs_format,
        honoured: store::DOCUMENT_FORMAT,
    })
}

pub(crate) fn run_outcome(outcome: store::RunOutcome) -> RunOutcome {
    RunOutcome {
        run_id: outcome.run,
        status: outcome.status,
        reason: outcome.reason,
        message: outcome.message,
        occurrences: outcome.occurrences,
        at: outcome.at,
        started_at: outcome.started_at,
        ended_at: outcome.ended_at,
    }
}
