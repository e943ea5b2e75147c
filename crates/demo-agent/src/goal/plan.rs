//! The planner: an outline, drafts of the parts at the same time, and a summary that the judge reviews.

use std::path::Path;

use serde_json::{Value, json};

use super::{
    blocks::excerpt,
    files::{ACCEPTED_BY_PERSON, NAMES, WORD_COUNT, file_for},
    prompt::{PlanRequest, TaskLine},
    work::ASK_FIRST,
    workplace::{WorkError, Workplace, send_text},
};

/// The words of a goal for which a worker asks a person.
const ASK_ME: &str = "ask me";
/// The question of the worker.
const QUESTION: &str = "Who shall read it?";
/// The words of a goal whose summary a person accepts.
const LET_ME_ACCEPT: &str = "let me accept";
/// The end of the line of a task that checks or the judge have sent back in each round.
const NOT_ACCEPTED: &str = ": not accepted";
/// The parts of a goal that names none.
const DEFAULT_PARTS: [&str; 3] = ["opening", "main part", "close"];
/// The highest number of parts. One more makes the demonstration longer and shows nothing new.
const MAX_PARTS: usize = 3;
/// The highest number of characters of the name of a part.
const MAX_PART_CHARS: usize = 40;
/// The highest number of characters of the key of a part.
const MAX_KEY_CHARS: usize = 20;
/// The highest number of characters of the goal in a description.
const MAX_GOAL_CHARS: usize = 300;
/// The highest number of characters of a title.
const MAX_TITLE_CHARS: usize = 60;
/// The keys of the tasks that are no part.
const OUTLINE: &str = "outline";
const SUMMARY: &str = "summary";
/// The role of most tasks.
const WORKER: &str = "worker";
const JUDGE: &str = "judge";
/// The end of the key of a task that replaces a failed one.
const AGAIN: &str = "-again";

/// A part of the goal, which one task writes.
struct Part {
    key: String,
    name: String,
    file: String,
}

/// Returns the role of the tasks that write: `worker`, or the first one that does not judge.
pub(super) fn worker_role(plan: Option<&PlanRequest>) -> &str {
    let roles = plan.map_or(&[][..], |plan| &plan.roles);
    let worker = roles.iter().find(|role| *role == WORKER);
    let other = || roles.iter().find(|role| *role != JUDGE);
    worker.or_else(other).map_or(WORKER, String::as_str)
}

/// Makes the first plan.
pub(super) fn plan(
    workplace: &mut dyn Workplace,
    cwd: &Path,
    request: &PlanRequest,
) -> Result<(), WorkError> {
    send_text(workplace, "I read the goal and the roles of the team.");
    workplace.pause()?;
    let tasks = tasks(request, cwd);
    for task in &tasks {
        workplace.call("create_task", task.clone())?;
    }
    if workplace.has_tool("remember") {
        let files: Vec<_> = tasks
            .iter()
            .filter_map(|task| task["writes"][0].as_str())
            .collect();
        let entry = json!({ "key": "files", "value": files.join(", ") });
        workplace.call("remember", entry)?;
    }
    let count = tasks.len();
    let word = if count == 1 { "task" } else { "tasks" };
    send_text(workplace, &format!("I have planned {count} {word}."));
    Ok(())
}

/// Makes a task anew in place of each one that has failed, and leaves those that were not accepted to a person.
pub(super) fn replan(
    workplace: &mut dyn Workplace,
    cwd: &Path,
    goal: &str,
    failed: &[TaskLine],
    worker: &str,
) -> Result<(), WorkError> {
    send_text(workplace, "I look at the tasks that have ended.");
    workplace.pause()?;
    // A second failure has a cause that another repetition does not mend.
    let (rejected, failed): (Vec<_>, Vec<_>) = failed
        .iter()
        .partition(|task| without_turns(&task.text).ends_with(NOT_ACCEPTED));
    let repeated = failed.iter().filter(|task| !task.key.ends_with(AGAIN));
    let mut count = 0;
    for task in repeated {
        let failed = without_turns(&task.text);
        let key: String = task.key.chars().filter(|letter| *letter != '/').collect();
        let key = format!(
            "{}{AGAIN}",
            key.chars().take(MAX_KEY_CHARS).collect::<String>()
        );
        let new = json!({
            "key": key,
            "title": excerpt(&format!("Again: {failed}"), MAX_TITLE_CHARS),
            "description": format!(
                "The task {} has failed: {}\n\nThe goal: {}",
                task.key, excerpt(failed, MAX_GOAL_CHARS), excerpt(goal, MAX_GOAL_CHARS)
            ),
            "role": worker,
            "writes": [file_for(cwd, &key)],
            "replaces": [task.key],
        });
        workplace.call("create_task", new)?;
        count += 1;
    }
    let text = match count {
        0 if !rejected.is_empty() => {
            "I change nothing: a person can accept the result that the judge did not.".to_owned()
        }
        0 => "I change nothing.".to_owned(),
        1 => "I have planned the failed task again.".to_owned(),
        count => format!("I have planned {count} failed tasks again."),
    };
    send_text(workplace, &text);
    Ok(())
}

/// Returns the title and the reason of a failed task, without the number of turns behind them.
fn without_turns(text: &str) -> &str {
    text.rsplit_once(" (turns: ").map_or(text, |(text, _)| text)
}

/// Returns the tasks of a plan, as inputs of `create_task`.
fn tasks(request: &PlanRequest, cwd: &Path) -> Vec<Value> {
    let goal = excerpt(&request.goal, MAX_GOAL_CHARS);
    let worker = worker_role(Some(request));
    let has_judge = request.roles.iter().any(|role| role == JUDGE);
    // The outline and the summary need two tasks.
    let room = request.max_tasks.saturating_sub(2);
    let parts = parts(&request.goal, room.min(MAX_PARTS), cwd);
    let summary_file = file_for(cwd, SUMMARY);
    let has_words = |words: &str| request.goal.to_lowercase().contains(words);
    let by_person = has_words(LET_ME_ACCEPT).then_some(ACCEPTED_BY_PERSON);
    let summary_lines = [WORD_COUNT].into_iter().chain(by_person);
    if parts.is_empty() {
        return vec![json!({
            "key": SUMMARY, "title": "Write the text", "role": worker,
            "description": format!("Write a short text.\n\nThe goal: {goal}"),
            "acceptance": summary_lines.collect::<Vec<_>>(),
            "writes": [summary_file], "review": has_judge,
        })];
    }
    let other = |role: &&String| *role != JUDGE && *role != WORKER;
    let first = request
        .roles
        .iter()
        .find(other)
        .map_or(worker, String::as_str);
    let files: Vec<_> = parts
        .iter()
        .map(|part| format!("`{}`", part.file))
        .collect();
    let names_of_parts = format!("{NAMES}{}.", files.join(", "));
    let lines: Vec<_> = parts
        .iter()
        .map(|part| format!("- {}, in `{}`", part.name, part.file))
        .collect();
    let outline_file = file_for(cwd, OUTLINE);
    let mut tasks = vec![json!({
        "key": OUTLINE, "title": "Outline the parts", "role": first,
        "description": format!(
            "Write the outline of these parts, each with its file:\n\n{}\n\nThe goal: {goal}",
            lines.join("\n")
        ),
        "acceptance": [names_of_parts],
        "writes": [&outline_file],
    })];
    for (index, part) in parts.iter().enumerate() {
        let asks = index == 0 && has_words(ASK_ME);
        let question = if asks {
            format!("\n\n{ASK_FIRST}{QUESTION}")
        } else {
            String::new()
        };
        let description = format!(
            "Write the part \"{}\" after the outline. Leave the other parts alone.\n\nThe goal: {goal}{question}",
            part.name
        );
        tasks.push(json!({
            "key": part.key, "title": format!("Draft: {}", part.name), "role": worker,
            "description": description,
            "depends_on": [OUTLINE],
            "acceptance": [format!("{NAMES}`{outline_file}`.")],
            "writes": [part.file],
        }));
    }
    let keys: Vec<_> = parts.iter().map(|part| part.key.as_str()).collect();
    let acceptance: Vec<_> = [names_of_parts.as_str()]
        .into_iter()
        .chain(summary_lines)
        .collect();
    tasks.push(json!({
        "key": SUMMARY, "title": "Sum up the drafts", "role": worker,
        "description": format!("Write a summary of the drafts that names each file.\n\nThe goal: {goal}"),
        "depends_on": keys,
        "acceptance": acceptance,
        "writes": [summary_file], "review": has_judge,
    }));
    tasks
}

/// Returns the parts of a goal, at most `max`: those that it lists after a colon, such as `a guide: green, black and herbal`.
/// Joins the parts beyond `max` to the last one. Returns none if `max` allows no two parts.
fn parts(goal: &str, max: usize, cwd: &Path) -> Vec<Part> {
    if max < 2 {
        return Vec::new();
    }
    let mut names = listed_parts(goal);
    let is_short = |name: &String| name.chars().count() <= MAX_PART_CHARS;
    if names.len() < 2 || !names.iter().all(is_short) {
        names = DEFAULT_PARTS.map(str::to_owned).into();
    }
    if names.len() > max {
        let last = names.split_off(max - 1);
        names.push(excerpt(&last.join(", "), MAX_PART_CHARS * 2));
    }
    let mut parts: Vec<Part> = Vec::new();
    for (index, name) in names.into_iter().enumerate() {
        let key = slug(&name);
        let is_taken =
            [OUTLINE, SUMMARY].contains(&key.as_str()) || parts.iter().any(|part| part.key == key);
        let key = if key.is_empty() || is_taken {
            format!("part-{}", index + 1)
        } else {
            key
        };
        let file = file_for(cwd, &key);
        parts.push(Part { key, name, file });
    }
    parts
}

fn listed_parts(goal: &str) -> Vec<String> {
    let Some((_, list)) = goal.split_once(": ") else {
        return Vec::new();
    };
    let end = list.find(['.', ';', '\n']).unwrap_or(list.len());
    let list = list[..end].replace(" and ", ", ");
    let names = list
        .split(',')
        .map(|name| name.split_whitespace().collect::<Vec<_>>().join(" "));
    names.filter(|name| !name.is_empty()).collect()
}

/// Returns a name in lower-case letters, digits and hyphens.
fn slug(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    let key: String = words
        .join("-")
        .to_lowercase()
        .chars()
        .take(MAX_KEY_CHARS)
        .collect();
    key.trim_end_matches('-').to_owned()
}
