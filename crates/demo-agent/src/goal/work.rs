//! The worker: writes one small file for each task, hands it in, and reports it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use agent_client_protocol::v1::schema::{
    SessionUpdate, ToolCall, ToolCallLocation, ToolCallStatus, ToolKind,
};
use serde_json::json;

use super::{
    blocks::{excerpt, named_files},
    files::{SIGNATURE, WORD_COUNT, WORD_COUNT_LINE, count_words, is_writable, path_below},
    prompt::WorkRequest,
    workplace::{WorkError, Workplace, send_text},
};

/// The state of a task, from the prompts of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct WorkState {
    pub(super) request: WorkRequest,
    /// The answers to questions.
    pub(super) answers: Vec<String>,
    /// The findings of the last round. Empty in the first round.
    pub(super) findings: Vec<String>,
}

/// The beginning of the line of a description for which the worker asks a person.
pub(super) const ASK_FIRST: &str = "Ask the person first: ";
/// The answers that the worker proposes. The first is the default.
const ANSWERS: [&str; 2] = ["everyone", "beginners"];
/// The highest number of characters of a text of others in a file.
const MAX_QUOTE_CHARS: usize = 400;

/// Does the work of a task.
pub(super) fn work(
    workplace: &mut dyn Workplace,
    cwd: &Path,
    state: &WorkState,
) -> Result<(), WorkError> {
    let request = &state.request;
    send_text(workplace, &format!("I work on {}.", request.key));
    workplace.pause()?;
    let question = request
        .description
        .lines()
        .find_map(|line| line.strip_prefix(ASK_FIRST));
    if let Some(question) = question
        && state.answers.is_empty()
        && workplace.has_tool("ask_person")
    {
        let question = json!({ "question": question, "options": ANSWERS, "default": ANSWERS[0] });
        let asked = workplace.call("ask_person", question)?;
        // A person has answered an earlier turn of the task, which this memory does not hold.
        if let Some(answer) = asked["answer"].as_str() {
            let answered = WorkState {
                answers: vec![answer.to_owned()],
                ..state.clone()
            };
            return work(workplace, cwd, &answered);
        }
        send_text(workplace, "I have asked, and go on with the answer.");
        return Ok(());
    }
    // 1. The file.
    let text = content(state);
    let path = file_of(request).filter(|path| path_below(cwd, path).is_some());
    if let Some(path) = &path
        && let Some(file) = path_below(cwd, path)
    {
        if let Err(error) = write(&file, &text) {
            let reason = format!("`{path}` cannot be written: {error}");
            return report(workplace, "failed", &reason, None);
        }
        workplace.show(edit(path, file));
    }
    let name = path.clone().unwrap_or_else(|| default_file(&request.key));
    workplace.pause()?;
    // 2. The artifact, which the judge reads.
    let mut artifact = json!({ "name": name, "media_type": "text/markdown" });
    match &path {
        Some(path) => artifact["path"] = path.as_str().into(),
        None => artifact["text"] = text.as_str().into(),
    }
    let version = if workplace.has_tool("save_artifact") {
        workplace.call("save_artifact", artifact)?["version"].as_i64()
    } else if path.is_none() {
        let reason = "The task may write no file, and the session has no tool for artifacts.";
        return report(workplace, "failed", reason, None);
    } else {
        None
    };
    // 3. The report.
    let result = result(state, &name, path.is_some(), version, &text);
    report(workplace, "done", &result, version.map(|_| name.as_str()))?;
    send_text(workplace, &result);
    Ok(())
}

/// Reports that the session does not hold the request of a task.
pub(super) fn report_forgotten(workplace: &mut dyn Workplace, key: &str) -> Result<(), WorkError> {
    let reason = format!("This memory does not hold the request of the task {key}.");
    report(workplace, "failed", &reason, None)
}

fn report(
    workplace: &mut dyn Workplace,
    status: &str,
    result: &str,
    artifact: Option<&str>,
) -> Result<(), WorkError> {
    let mut arguments = json!({ "status": status, "result": result });
    if let Some(artifact) = artifact {
        arguments["artifacts"] = json!([artifact]);
    }
    workplace.call("update_task", arguments)?;
    Ok(())
}

/// Returns the name of a file for a task. Keys of items have a slash.
fn default_file(key: &str) -> String {
    format!("{}.md", key.replace('/', "-"))
}

/// Returns the file that the task may write. Returns `None` if it may write none.
fn file_of(request: &WorkRequest) -> Option<String> {
    let path = request.writes.first()?;
    if Path::new(path).extension().is_some() {
        return Some(path.clone());
    }
    let name = default_file(&request.key);
    Some(match path.trim_end_matches('/') {
        "." => name,
        folder => format!("{folder}/{name}"),
    })
}

/// Returns the text of the file. The first version lacks the number of its words, so that the judge finds a fault.
fn content(state: &WorkState) -> String {
    let WorkRequest {
        title,
        description,
        inputs,
        acceptance,
        ..
    } = &state.request;
    let mut paragraphs = vec![format!("# {title}"), description.clone()];
    if !inputs.is_empty() {
        paragraphs.push("The results before this one:".to_owned());
        let lines = inputs
            .iter()
            .map(|(key, result)| format!("- {key}: {}", excerpt(result, MAX_QUOTE_CHARS)));
        paragraphs.push(lines.collect::<Vec<_>>().join("\n"));
    }
    let answers = state.answers.iter();
    paragraphs.extend(answers.map(|it| format!("The answer: {}", excerpt(it, MAX_QUOTE_CHARS))));
    paragraphs.push(SIGNATURE.to_owned());
    if !state.findings.is_empty() && acceptance.iter().any(|line| line == WORD_COUNT) {
        let words: usize = paragraphs.iter().map(|text| count_words(text)).sum();
        paragraphs.push(format!("{WORD_COUNT_LINE}{words}"));
    }
    paragraphs.retain(|text| !text.is_empty());
    format!("{}\n", paragraphs.join("\n\n"))
}

/// Writes a file.
///
/// # Errors
///
/// Refuses to replace a file that the agent has not written, because a person can start a goal in any directory.
fn write(file: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    if !is_writable(file)? {
        let problem = "the demonstration agent has not written the file that exists, and replaces only its own files; \
                       rename the file, or start the goal in another directory";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, problem));
    }
    fs::write(file, text)
}

/// Returns the tool call that shows the written file.
fn edit(path: &str, file: PathBuf) -> SessionUpdate {
    let call = ToolCall::new(format!("write-{path}"), format!("Write {path}"))
        .kind(ToolKind::Edit)
        .status(ToolCallStatus::Completed)
        .locations(vec![ToolCallLocation::new(file)]);
    SessionUpdate::ToolCall(call)
}

/// Returns the result, which names only what the agent did.
fn result(
    state: &WorkState,
    name: &str,
    is_file: bool,
    version: Option<i64>,
    text: &str,
) -> String {
    let verb = if is_file { "Wrote" } else { "Handed in" };
    let again = if state.findings.is_empty() {
        ""
    } else {
        " again"
    };
    let mut parts = vec![format!(
        "{verb} `{name}`{again}, {} words",
        count_words(text)
    )];
    parts.extend(version.map(|version| format!("artifact version {version}")));
    let sources: Vec<_> = state
        .request
        .inputs
        .iter()
        .filter_map(|(_, result)| named_files(result).into_iter().next())
        .map(|file| format!("`{file}`"))
        .collect();
    if !sources.is_empty() {
        parts.push(format!("after {}", sources.join(", ")));
    }
    let end = if state.findings.is_empty() {
        ""
    } else if text.contains(WORD_COUNT_LINE) {
        " Its last line is now the number of its words."
    } else {
        " No model thinks here, so the findings are not resolved."
    };
    format!("{}.{end}", parts.join(", "))
}
