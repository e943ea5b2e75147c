//! Questions of agents: listing, reading and answering.

use api_types::{AnswerRequest, Page};
use model::{
    QuestionId,
    approval::Decider,
    question::{ANSWER_BYTES, Form, Question, QuestionKind, QuestionStatus},
};
use serde_json::Value;
use store::QuestionFilter;

use crate::{Error, Service, boxed};

/// The filters and the page of a list of questions.
#[derive(Debug, Clone, Default)]
pub struct QuestionQuery {
    /// The status of the questions. `None` means any.
    pub state: Option<QuestionStatus>,
    /// The session: its key, its ID or an ID prefix.
    pub session: Option<String>,
    /// The last question of the previous page.
    pub after: Option<QuestionId>,
    /// The highest number of questions on the page.
    pub limit: u32,
}

impl Service {
    /// Lists questions, the newest first.
    #[boxed]
    pub async fn questions(&self, query: &QuestionQuery) -> Result<Page<Question>, Error> {
        let session = match &query.session {
            Some(given) => Some(self.find_session(given).await?.id),
            None => None,
        };
        let filter = QuestionFilter {
            state: query.state,
            session,
        };
        let page = store::Page {
            after: query.after,
            limit: query.limit + 1,
        };
        let found = self.store.question_page(self.tenant, filter, page).await?;
        Ok(Page::of(found, query.limit, |question| {
            question.id.to_string()
        }))
    }

    /// Returns one question, by its ID or an ID prefix.
    #[boxed]
    pub async fn question(&self, given: &str) -> Result<Question, Error> {
        let id = self.find_question(given).await?;
        Ok(self.store.question(self.scope(), id).await?)
    }

    /// Answers a question, by its ID or an ID prefix. If the request is `repeated` and the same person has given the same
    /// answer, returns that answer.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Refused`] with the status if the question is no longer pending.
    #[boxed]
    pub async fn answer(
        &self,
        given: &str,
        request: &AnswerRequest,
        by: &Decider,
        repeated: bool,
    ) -> Result<Question, Error> {
        let id = self.find_question(given).await?;
        let question = self.store.question(self.scope(), id).await?;
        let answer = validate_answer(&question, request)?;
        self.record_answer(id, &answer, by, repeated).await
    }

    /// Declines to answer the form of an agent that waits in its turn, by the question's ID or an ID prefix. A `repeated`
    /// request returns the question that the same person has declined.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Refused`] with the status if the question is no longer pending, and an error for a question of the
    /// tool `ask_person`, whose agent does not wait.
    #[boxed]
    pub async fn decline_question(
        &self,
        given: &str,
        by: &Decider,
        repeated: bool,
    ) -> Result<Question, Error> {
        let id = self.find_question(given).await?;
        let question = self.store.question(self.scope(), id).await?;
        if question.kind != QuestionKind::Elicitation {
            let problem = "no agent waits for it in its turn: answer it, or let its default count at the deadline";
            return Err(Error::invalid("question", given, problem));
        }
        self.record_answer(id, &Value::Null, by, repeated).await
    }

    async fn record_answer(
        &self,
        id: QuestionId,
        answer: &Value,
        by: &Decider,
        repeated: bool,
    ) -> Result<Question, Error> {
        let answered = self
            .store
            .answer_question(self.tenant, id, answer, by, self.now());
        match answered.await {
            Err(store::Error::Refused(refused)) if repeated => {
                let found = self.store.question(self.scope(), id).await?;
                let same =
                    found.state.answered_by() == Some(by) && found.state.answer() == Some(answer);
                if same { Ok(found) } else { Err(refused.into()) }
            }
            answered => Ok(answered?),
        }
    }
}

/// Returns the answer of a request: its text, the option that it names, or the fields of the form.
fn validate_answer(question: &Question, request: &AnswerRequest) -> Result<Value, Error> {
    if let Some(schema) = &question.body.schema {
        return validate_form(schema, request);
    }
    if request.form.is_some() {
        let problem = "the question has no form: answer with `text`";
        return Err(Error::invalid("form", "", problem));
    }
    let options = &question.body.options;
    match (&request.text, request.option) {
        (Some(text), None) => {
            let text = text.trim();
            if text.is_empty() {
                return Err(Error::invalid("text", text, "it is empty"));
            }
            if text.len() > ANSWER_BYTES {
                let problem = format!(
                    "it has {} bytes, accepted are up to {ANSWER_BYTES}",
                    text.len()
                );
                return Err(Error::invalid("text", text, problem));
            }
            Ok(text.into())
        }
        (None, Some(number)) => {
            let position = usize::try_from(number)
                .ok()
                .and_then(|it| it.checked_sub(1));
            let option = position.and_then(|position| options.get(position));
            let option = option.ok_or_else(|| {
                let problem = match options.len() {
                    0 => "the question has no options: answer with `text`".to_owned(),
                    count => format!("accepted are 1 to {count}"),
                };
                Error::invalid("option", &number.to_string(), problem)
            })?;
            Ok(option.as_str().into())
        }
        (None, None) => Err(Error::invalid(
            "text",
            "",
            "it is missing: give `text` or `option`",
        )),
        (Some(text), Some(_)) => Err(Error::invalid(
            "text",
            text,
            "give either `text` or `option`",
        )),
    }
}

/// Returns the answer to a form.
fn validate_form(schema: &Value, request: &AnswerRequest) -> Result<Value, Error> {
    let (None, None, Some(fields)) = (&request.text, request.option, &request.form) else {
        let problem = "the question has a form: answer with `form` alone";
        return Err(Error::invalid("form", "", problem));
    };
    let answer = Value::Object(fields.clone());
    let checked = Form::parse(schema).and_then(|form| form.check(&answer));
    checked.map_err(|error| {
        let given = fields.get(&error.field).map(Value::to_string);
        let field = format!("form.{}", error.field);
        Error::invalid("form", &given.unwrap_or_default(), error.to_string()).at_field(field)
    })?;
    Ok(answer)
}
