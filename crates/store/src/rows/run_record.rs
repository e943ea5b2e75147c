//! The internal record of a run.

use model::{entity::RunRecord, prompt::RunReport};

use crate::{
    Error,
    database::Row,
    stored::{self, StoredPromptRef},
};

/// Returns the internal record of a run.
pub(crate) fn run_record(row: &Row) -> Result<RunRecord, Error> {
    let run_report = match row.optional("run_report_version")? {
        None => None,
        Some(version) => Some(RunReport {
            version,
            text: row.optional("run_report")?,
        }),
    };
    Ok(RunRecord {
        prompt_ref: stored::read_optional::<StoredPromptRef>(row, "prompt_ref")?,
        run_report,
        rendered_prompt: row.optional("rendered_prompt")?,
        variables: row.json("variables")?,
        diagnostics: row.json("diagnostics")?,
        error: row.optional("error")?,
    })
}
