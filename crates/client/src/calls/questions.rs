//! Operations on questions.

use api_types::{AnswerRequest, Page, Question};
use model::question::QuestionStatus;

use super::PageParams;
use crate::{Client, Error, boxed};

/// The filter of a list of questions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QuestionFilter {
    /// The accepted states.
    pub states: QuestionStates,
    /// The session of the questions, by its key, its ID or a prefix of its ID.
    pub session: Option<String>,
    /// The requested part of the list.
    pub page: PageParams,
}

/// The states of questions in a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum QuestionStates {
    /// Pending questions only.
    #[default]
    Pending,
    /// Questions in any state.
    Any,
    /// Questions in one state only.
    Only(QuestionStatus),
}

impl Client {
    /// Lists questions, the newest first.
    #[boxed]
    pub async fn questions(&self, filter: &QuestionFilter) -> Result<Page<Question>, Error> {
        let state = match filter.states {
            QuestionStates::Pending => None,
            QuestionStates::Any => Some("any"),
            QuestionStates::Only(state) => Some(state.as_str()),
        };
        self.get(&["questions"])
            .query_param("state", state)
            .query_param("session", filter.session.as_ref())
            .page(&filter.page)
            .fetch()
            .await
    }

    /// Returns a question, by its ID or a prefix of its ID.
    #[boxed]
    pub async fn question(&self, question: &str) -> Result<Question, Error> {
        self.get(&["questions", question]).fetch().await
    }

    /// Answers a question.
    #[boxed]
    pub async fn answer(&self, question: &str, request: &AnswerRequest) -> Result<Question, Error> {
        self.post(&["questions", question, "answer"])
            .json(request)
            .idempotent()
            .fetch()
            .await
    }

    /// Declines to answer the form of an agent that waits.
    #[boxed]
    pub async fn decline_question(&self, question: &str) -> Result<Question, Error> {
        self.post(&["questions", question, "decline"])
            .idempotent()
            .fetch()
            .await
    }
}
