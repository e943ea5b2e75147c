//! The report on a goal, in prose.

use super::{
    blocks::excerpt,
    prompt::TaskLine,
    workplace::{Workplace, send_text},
};

/// The highest number of characters of a result in the report.
const MAX_RESULT_CHARS: usize = 160;

/// Writes the report.
pub(super) fn report(workplace: &mut dyn Workplace, tasks: &[TaskLine], questions: &[String]) {
    let done = tasks.iter().filter(|task| task.is_done()).count();
    let verdict = if done == tasks.len() && done > 0 {
        "The goal is reached"
    } else {
        "The goal is not reached as a whole"
    };
    send_text(
        workplace,
        &format!("{verdict}: {done} of {} tasks are done.", tasks.len()),
    );
    for task in tasks {
        let text = excerpt(&task.text, MAX_RESULT_CHARS);
        let line = if task.is_done() {
            format!("\n\n{}: {text}", task.key)
        } else {
            format!("\n\n{} is {}: {text}", task.key, task.status)
        };
        send_text(workplace, &line);
    }
    for question in questions {
        let question = excerpt(question, MAX_RESULT_CHARS);
        send_text(workplace, &format!("\n\nA question: {question}"));
    }
    send_text(
        workplace,
        "\n\nNo model thinks here: the demonstration agent counted and quoted.",
    );
}
