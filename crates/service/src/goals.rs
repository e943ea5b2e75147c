//! Goals of people: listing, reading, starting and moving them.
//!
//! **Invariant:** a request that cannot become a goal makes nothing: the team, the agents, the directory and the limits are
//! checked before the store creates the session.

mod edit;
mod new_goal;
mod report;
mod task_edits;
mod tasks;
mod team;
mod view;

pub use view::{GoalToEdit, TaskToEdit};
pub(crate) use view::{reason_of, task_counts};

use api_types::{Goal, GoalMove, GoalSummary, Page};
use model::{SessionId, entity::Session, goal::GoalStatus, question::QuestionStatus};
use store::{GoalChange, GoalFilter, QuestionFilter};

use crate::{Error, Service, boxed};

/// The highest number of open questions that a goal shows.
const MAX_OPEN_QUESTIONS: u32 = 100;

/// The filter and the page of a list of goals.
#[derive(Debug, Clone, Default)]
pub struct GoalQuery {
    /// The state of the goals. `None` means any.
    pub state: Option<GoalStatus>,
    /// The last goal of the previous page.
    pub after: Option<SessionId>,
    /// The highest number of goals on the page.
    pub limit: u32,
}

impl Service {
    /// Lists goals, the newest first.
    #[boxed]
    pub async fn goals(&self, query: &GoalQuery) -> Result<Page<GoalSummary>, Error> {
        let filter = GoalFilter { state: query.state };
        let page = store::Page {
            after: query.after,
            limit: query.limit + 1,
        };
        let found = self.store.goal_page(self.tenant, filter, page).await?;
        let page = Page::of(found, query.limit, |goal| goal.session.to_string());
        Ok(page.map(view::summary_of_item))
    }

    /// Returns one goal, by the key, the ID or an ID prefix of its session.
    ///
    /// # Errors
    ///
    /// Returns a not-found error if there is no such session, or if it has no goal.
    #[boxed]
    pub async fn goal(&self, given: &str) -> Result<Goal, Error> {
        Ok(self.goal_to_edit(given).await?.goal)
    }

    /// Returns a goal in order to change it.
    ///
    /// # Errors
    ///
    /// Returns a not-found error if there is no such goal.
    #[boxed]
    pub async fn goal_to_edit(&self, given: &str) -> Result<GoalToEdit, Error> {
        let session = self.find_goal(given).await?;
        let seen = self.store.goal(self.scope(), session.id).await;
        let seen = seen.map_err(|error| named(error, given))?;
        let agents = self.store.seat_overviews(self.scope(), session.id).await?;
        let filter = QuestionFilter {
            state: Some(QuestionStatus::Pending),
            session: Some(session.id),
        };
        let page = store::Page::first(MAX_OPEN_QUESTIONS);
        let questions = self.store.question_page(self.tenant, filter, page).await?;
        Ok(GoalToEdit {
            goal: view::goal_view(&session, &seen, &agents, questions, self.now()),
            seen,
        })
    }

    /// Moves a goal for a person.
    ///
    /// # Errors
    ///
    /// Returns a not-found error if there is no such goal, and a refusal with its state if it does not accept the move.
    #[boxed]
    pub async fn move_goal(&self, given: &str, to: GoalMove) -> Result<Goal, Error> {
        let change = match to {
            GoalMove::Start => GoalChange::Start,
            GoalMove::Pause => GoalChange::Pause,
            GoalMove::Resume => GoalChange::Resume,
            GoalMove::Cancel => GoalChange::Cancel,
            GoalMove::Replan => GoalChange::Replan,
        };
        self.change_goal(given, &change).await?;
        self.goal(given).await
    }

    /// Commits a change of a goal, and returns its session.
    async fn change_goal(&self, given: &str, change: &GoalChange) -> Result<SessionId, Error> {
        let session = self.find_goal(given).await?.id;
        let changed = self
            .store
            .change_goal(self.tenant, session, change, self.now());
        changed.await.map_err(|error| named(error, given))?;
        Ok(session)
    }

    /// Returns the session of a goal. The session may have no goal.
    async fn find_goal(&self, given: &str) -> Result<Session, Error> {
        match self.find_session(given).await {
            Err(Error::NotFound { given: cut, .. }) => Err(Error::NotFound {
                what: "goal",
                given: cut,
                nearest: None,
            }),
            found => found,
        }
    }
}

/// Returns an error of the store with the name of the goal that the request gave.
fn named(error: store::Error, given: &str) -> Error {
    match Error::from(error) {
        Error::NotFound { what: "goal", .. } => Error::NotFound {
            what: "goal",
            given: given.chars().take(80).collect(),
            nearest: None,
        },
        error => error,
    }
}
