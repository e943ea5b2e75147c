//! Questions that agents ask people.

use std::time::Duration;

use model::question::{
    LONGEST_HOURS, MAX_OPTIONS, OPTION_BYTES, Question, QuestionBody, TEXT_BYTES,
};
use store::NewQuestion;

use super::RunTools;
use crate::{Error, boxed, naming};

/// A question that an agent asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonQuestion {
    /// The question.
    pub question: String,
    /// Answers that the agent proposes.
    pub options: Vec<String>,
    /// The answer that counts at the deadline without an answer of a person.
    pub default: String,
    /// The time for an answer, in hours.
    pub hours: u32,
}

impl RunTools {
    /// Asks a person. Returns the question, or the earlier one with the same text: of the turn, or of the same task if a person
    /// has answered it.
    ///
    /// # Errors
    ///
    /// Returns an error if a field is invalid, if the session takes no more inputs, or if the turn has asked too many
    /// questions.
    #[boxed]
    pub async fn ask_person(&self, request: &PersonQuestion) -> Result<Question, Error> {
        let now = self.service.now();
        let hours = request.hours;
        if !(1..=LONGEST_HOURS).contains(&hours) {
            let problem = format!("accepted are 1 to {LONGEST_HOURS}");
            return Err(Error::invalid("hours", &hours.to_string(), problem));
        }
        if request.options.len() > MAX_OPTIONS {
            let given = request.options.len().to_string();
            let problem = format!("accepted are up to {MAX_OPTIONS} options");
            return Err(Error::invalid("options", &given, problem));
        }
        let options = request.options.iter();
        let options =
            options.map(|option| Ok(validate("options", option, OPTION_BYTES)?.to_owned()));
        let new = NewQuestion {
            text: validate("question", &request.question, TEXT_BYTES)?.to_owned(),
            body: QuestionBody {
                options: options.collect::<Result<_, Error>>()?,
                default: Some(validate("default", &request.default, OPTION_BYTES)?.into()),
                schema: None,
            },
            deadline: now + Duration::from_hours(hours.into()),
        };
        Ok(self
            .service
            .store
            .ask_person(&self.caller, &new, now)
            .await?)
    }
}

/// Returns a text without the white space around it.
fn validate<'a>(field: &'static str, given: &'a str, max: usize) -> Result<&'a str, Error> {
    naming::validate_content(field, given)?;
    if given.len() > max {
        let problem = format!("it has {} bytes, accepted are up to {max}", given.len());
        return Err(Error::invalid(field, given, problem));
    }
    Ok(given.trim())
}
