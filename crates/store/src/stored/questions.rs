//! The document `questions.body`: the accepted answers of a question.

use model::question::QuestionBody;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{BoxError, Document};

/// The accepted answers of a question, as its row holds them.
#[derive(Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(default)]
pub(crate) struct StoredQuestionBody {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    options: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<Value>,
}

impl Document for StoredQuestionBody {
    type Domain = QuestionBody;

    fn of(body: &QuestionBody) -> Self {
        let QuestionBody {
            options,
            default,
            schema,
        } = body.clone();
        Self {
            options,
            default,
            schema,
        }
    }

    fn into_domain(self) -> Result<QuestionBody, BoxError> {
        let Self {
            options,
            default,
            schema,
        } = self;
        Ok(QuestionBody {
            options,
            default,
            schema,
        })
    }
}
