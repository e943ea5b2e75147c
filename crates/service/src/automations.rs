//! Automations: looked at, fired, paused, resumed, reset, deleted.

use std::collections::BTreeMap;

use model::{
    AutomationId, SessionId,
    entity::{Automation, Run, Session, Trigger},
};
use serde::Serialize;
use store::{Deletion, RunFilter};

use crate::{Error, Fire, Service, fires};

/// How many of an automation's newest runs are shown with it.
const SHOWN_RUNS: u32 = 10;
/// How many sessions are deleted between two looks at what is left.
const DELETED_AT_ONCE: u32 = 500;

/// An automation with all that is known of it.
#[derive(Debug, Clone, Serialize)]
pub struct AutomationView {
    /// The automation.
    #[serde(flatten)]
    pub automation: Automation,
    /// The name of its harness.
    pub harness: String,
    /// Its triggers, the manual one first.
    pub triggers: Vec<Trigger>,
    /// Its next fires, before jitter.
    pub next_fires: Vec<Fire>,
    /// The session that its next turn goes to, where it has one.
    pub session: Option<Session>,
    /// Its newest runs, the newest first.
    pub last_runs: Vec<Run>,
}

/// The automations by name.
#[derive(Debug, Clone, Default)]
pub struct AutomationList {
    /// Those that can be read.
    pub automations: Vec<AutomationView>,
    /// Those that cannot: they hide no other.
    pub unreadable: Vec<UnreadableAutomation>,
}

/// An automation that is there and cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnreadableAutomation {
    /// Its id.
    pub id: AutomationId,
    /// Its name.
    pub name: String,
    /// What makes no sense about it.
    pub unreadable: String,
}

/// What became of a wish to delete an automation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AutomationDeleted {
    /// The automation as it was.
    pub automation: Automation,
    /// How many of its sessions were deleted.
    pub sessions_deleted: u32,
    /// Sessions that stay because other automations are bound to them.
    pub sessions_kept: Vec<SessionId>,
}

impl Service {
    /// Lists the automations by name.
    pub async fn automations(&self) -> Result<AutomationList, Error> {
        let found = self.store.automations(self.scope()).await?;
        let mut list = AutomationList::default();
        for broken in found.unreadable {
            list.unreadable.push(UnreadableAutomation {
                id: broken.id,
                name: broken.name,
                unreadable: broken.error.chain(),
            });
        }
        for automation in found.readable {
            let (id, name) = (automation.id, automation.name.clone());
            match self.automation_view(automation).await {
                Ok(view) => list.automations.push(view),
                // Removed since the list was read.
                Err(Error::NotFound { .. }) => {}
                Err(error) if error.is_nonsense() => list.unreadable.push(UnreadableAutomation {
                    id,
                    name,
                    unreadable: error.chain(),
                }),
                Err(error) => return Err(error),
            }
        }
        Ok(list)
    }

    /// The names of the automations, by id.
    pub async fn automation_names(&self) -> Result<BTreeMap<AutomationId, String>, Error> {
        let found = self.store.automations(self.scope()).await?;
        let readable = found.readable.into_iter().map(|one| (one.id, one.name));
        let unreadable = found.unreadable.into_iter().map(|one| (one.id, one.name));
        Ok(readable.chain(unreadable).collect())
    }

    /// Reads one automation: by its name, its id or the beginning of that.
    pub async fn automation(&self, given: &str) -> Result<AutomationView, Error> {
        self.automation_view(self.find_automation(given).await?)
            .await
    }

    /// Makes an occurrence now and answers with its run. Its triggers keep their cadence.
    pub async fn fire(&self, given: &str) -> Result<Run, Error> {
        let automation = self.find_automation(given).await?;
        let fired = self
            .store
            .fire(self.tenant, automation.id, self.now())
            .await?;
        self.run_by_id(fired.run_id).await
    }

    /// Holds an automation. Instants until it is resumed are not due.
    pub async fn pause_automation(&self, given: &str) -> Result<AutomationView, Error> {
        let id = self.find_automation(given).await?.id;
        let reason = "paused by a person";
        self.store
            .pause_automation(self.scope(), id, reason, self.now())
            .await?;
        self.automation(&id.to_string()).await
    }

    /// Lets an automation go on, from now.
    pub async fn resume_automation(&self, given: &str) -> Result<AutomationView, Error> {
        let id = self.find_automation(given).await?.id;
        self.store
            .resume_automation(self.scope(), id, self.now())
            .await?;
        self.automation(&id.to_string()).await
    }

    /// Lets go of an automation's current session: the next run starts another one.
    pub async fn reset_automation(&self, given: &str) -> Result<AutomationView, Error> {
        let id = self.find_automation(given).await?.id;
        self.store
            .reset_automation(self.scope(), id, self.now())
            .await?;
        self.automation(&id.to_string()).await
    }

    /// Removes an automation; its sessions stay unless they are to go, too. A session to which
    /// another automation is bound stays in any case.
    pub async fn delete_automation(
        &self,
        given: &str,
        with_sessions: bool,
    ) -> Result<AutomationDeleted, Error> {
        let automation = self.find_automation(given).await?;
        self.store
            .delete_automation(self.scope(), automation.id, self.now())
            .await?;
        let mut deleted = AutomationDeleted {
            automation,
            sessions_deleted: 0,
            sessions_kept: Vec::new(),
        };
        if with_sessions {
            self.delete_sessions_of(&mut deleted).await?;
        }
        Ok(deleted)
    }

    async fn delete_sessions_of(&self, deleted: &mut AutomationDeleted) -> Result<(), Error> {
        loop {
            let kept = u32::try_from(deleted.sessions_kept.len()).unwrap_or(u32::MAX);
            let limit = DELETED_AT_ONCE.saturating_add(kept);
            let automation = Some(deleted.automation.id);
            let mut left = self
                .store
                .sessions(self.scope(), None, automation, limit)
                .await?;
            left.retain(|session| !deleted.sessions_kept.contains(&session.id));
            if left.is_empty() {
                return Ok(());
            }
            for session in left {
                let now = self.now();
                let deletion = self
                    .store
                    .delete_session(self.tenant, session.id, false, now);
                match deletion.await? {
                    Deletion::Done { .. } => deleted.sessions_deleted += 1,
                    Deletion::BlockedBy(_) => deleted.sessions_kept.push(session.id),
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
            ..RunFilter::default()
        };
        let session = match (automation.current_session_id, &automation.bound_session_key) {
            (Some(id), _) => match self.store.session(scope, id).await {
                // Deleted since the automation was read.
                Err(store::Error::NotFound { .. }) => None,
                found => Some(found?),
            },
            (None, Some(key)) => self.store.session_by_key(self.tenant, key).await?,
            (None, None) => None,
        };
        Ok(AutomationView {
            harness: self.store.harness(scope, automation.harness_id).await?.name,
            next_fires: fires::next(&automation, &triggers, self.now())?,
            last_runs: self.store.runs(scope, filter, SHOWN_RUNS).await?,
            triggers,
            session,
            automation,
        })
    }
}
