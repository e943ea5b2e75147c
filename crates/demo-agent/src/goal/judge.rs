//! The judge: reads the files that a result names, and checks the acceptance lines that need no model.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::{
    blocks::{backticked, excerpt, named_files},
    files::{ACCEPTED_BY_PERSON, NAMES, WORD_COUNT, WORD_COUNT_LINE, count_words, path_below},
    prompt::{ReviewRequest, TaskLine},
    workplace::{WorkError, Workplace, send_text},
};

/// The highest number of findings and of lines of evidence in a verdict.
const MAX_LINES: usize = 20;
/// The highest number of characters of a line of evidence.
const MAX_EVIDENCE_CHARS: usize = 400;

/// A file that the judge has read.
struct ReadFile {
    name: String,
    text: String,
}

/// The verdict that grows while the judge reads.
#[derive(Default)]
struct Verdict {
    evidence: Vec<String>,
    findings: Vec<Value>,
}

impl Verdict {
    fn add_finding(&mut self, id: &str, text: &str) {
        let text = excerpt(text, MAX_EVIDENCE_CHARS);
        let finding = json!({ "id": id, "text": text, "severity": "blocker" });
        self.findings.push(finding);
    }

    fn add_evidence(&mut self, text: &str) {
        self.evidence.push(excerpt(text, MAX_EVIDENCE_CHARS));
    }

    /// Gives the verdict. Returns `true` if it accepts.
    fn give(mut self, workplace: &mut dyn Workplace) -> Result<bool, WorkError> {
        self.evidence.truncate(MAX_LINES);
        self.findings.truncate(MAX_LINES);
        let is_accepted = self.findings.is_empty();
        let verdict = if is_accepted {
            json!({ "verdict": "accept", "evidence": self.evidence })
        } else {
            json!({ "verdict": "send_back", "findings": self.findings })
        };
        workplace.call("judge_task", verdict)?;
        Ok(is_accepted)
    }
}

/// Judges the result of a task.
pub(super) fn review(
    workplace: &mut dyn Workplace,
    cwd: &Path,
    request: &ReviewRequest,
) -> Result<(), WorkError> {
    send_text(workplace, &format!("I read the result of {}.", request.key));
    workplace.pause()?;
    let mut verdict = Verdict::default();
    // The file of the task is the first that its result names. The others are its sources.
    let name = named_files(&request.result).into_iter().next();
    let file = match name {
        Some(name) => read(workplace, cwd, name)?,
        None => Some(ReadFile {
            name: "the result".to_owned(),
            text: request.result.clone(),
        }),
    };
    if let Some(file) = file {
        for line in &request.acceptance {
            check_line(&mut verdict, &file, line);
        }
        if request.acceptance.is_empty() {
            let words = count_words(&file.text);
            verdict.add_evidence(&format!("read {}: {words} words", file.name));
        }
    } else {
        let name = name.unwrap_or_default();
        let text = format!("`{name}` is neither an artifact nor a file of the directory.");
        verdict.add_finding("missing-file", &text);
    }
    let text = if verdict.give(workplace)? {
        "I accept it."
    } else {
        "I send it back."
    };
    send_text(workplace, text);
    Ok(())
}

/// Judges the whole goal.
pub(super) fn check(
    workplace: &mut dyn Workplace,
    cwd: &Path,
    tasks: &[TaskLine],
) -> Result<(), WorkError> {
    send_text(workplace, "I compare the goal with the files of its tasks.");
    workplace.pause()?;
    let mut verdict = Verdict::default();
    let mut seen: Vec<&str> = Vec::new();
    for task in tasks.iter().filter(|task| task.is_done()) {
        // The file of a task is the first that its result names.
        let Some(name) = named_files(&task.text).into_iter().next() else {
            verdict.add_evidence(&format!("compared {}: done, without a file", task.key));
            continue;
        };
        if seen.contains(&name) {
            continue;
        }
        seen.push(name);
        if let Some(file) = read(workplace, cwd, name)? {
            let words = count_words(&file.text);
            verdict.add_evidence(&format!("read {name} of {}: {words} words", task.key));
        } else {
            let text = format!("`{name}` of {} is missing.", task.key);
            verdict.add_finding(&excerpt(&format!("missing-{}", task.key), 40), &text);
        }
    }
    if verdict.evidence.is_empty() && verdict.findings.is_empty() {
        verdict.add_finding("no-result", "No task of the goal is done.");
    }
    let text = if verdict.give(workplace)? {
        "I accept the goal."
    } else {
        "I send the goal back."
    };
    send_text(workplace, text);
    Ok(())
}

/// Checks one acceptance line.
fn check_line(verdict: &mut Verdict, file: &ReadFile, line: &str) {
    let ReadFile { name, text } = file;
    if line.starts_with(NAMES) {
        let missing: Vec<_> = backticked(line).filter(|it| !text.contains(it)).collect();
        if missing.is_empty() {
            verdict.add_evidence(&format!("read {name}: {line}"));
        } else {
            let text = format!("{name} does not name {}.", missing.join(", "));
            verdict.add_finding("missing-names", &text);
        }
    } else if line == WORD_COUNT {
        let (body, last) = text.trim_end().rsplit_once('\n').unwrap_or_default();
        let words = count_words(body);
        if last == format!("{WORD_COUNT_LINE}{words}") {
            verdict.add_evidence(&format!(
                "ran a count over {name}: {words} words, as it says"
            ));
        } else {
            let text = format!("The last line of {name} is not the number of its words.");
            verdict.add_finding("word-count", &text);
        }
    } else if line == ACCEPTED_BY_PERSON {
        verdict.add_finding("person", &format!("No person has accepted {name} yet."));
    } else {
        let words = count_words(text);
        verdict.add_evidence(&format!(
            "read {name}, {words} words; no model judged the line: {line}"
        ));
    }
}

/// Reads an artifact, or else a file of the directory. Returns `None` if neither exists.
fn read(
    workplace: &mut dyn Workplace,
    cwd: &Path,
    name: &str,
) -> Result<Option<ReadFile>, WorkError> {
    let mut text = None;
    if workplace.has_tool("get_artifact") {
        match workplace.call("get_artifact", json!({ "name": name })) {
            Ok(answer) => text = answer["text"].as_str().map(str::to_owned),
            Err(WorkError::Cancelled) => return Err(WorkError::Cancelled),
            // The result may name a file that nobody has handed in.
            Err(WorkError::NoTools | WorkError::Call(_)) => {}
        }
    }
    let text = text.or_else(|| fs::read_to_string(path_below(cwd, name)?).ok());
    Ok(text.map(|text| ReadFile {
        name: name.to_owned(),
        text,
    }))
}
