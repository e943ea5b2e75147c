//! The report of a goal, in Markdown from its rows. No model is needed for it.

mod edits;
mod markup;

use std::fmt::Write as _;

use api_types::GoalReport;
use model::{
    SessionId, Timestamp,
    caller_name::display_name,
    entity::Session,
    goal::{DoneBy, GoalLimit, Severity, TaskKind, TaskStatus},
    question::{Question, QuestionState},
};
use store::{
    GoalReportRows, GoalTask, GoalView, Page, QuestionFilter, ReportedArtifact, TaskFinding,
};

use self::{
    edits::edits_section,
    markup::{cell, quote},
};
use super::{
    named,
    view::{self, text_of},
};
use crate::{Error, Service, boxed};

/// The number of questions that the report reads at once.
const QUESTIONS_PER_PAGE: u32 = 500;

impl Service {
    /// Returns the report of a goal as it stands.
    ///
    /// # Errors
    ///
    /// Returns a not-found error if there is no such goal.
    #[boxed]
    pub async fn goal_report(&self, given: &str) -> Result<GoalReport, Error> {
        let session = self.find_goal(given).await?;
        let rows = self.store.goal_report(self.scope(), session.id).await;
        let rows = rows.map_err(|error| named(error, given))?;
        let questions = self.questions_of(session.id).await?;
        let summary = view::summary(&session, &rows.goal);
        Ok(GoalReport {
            goal: session.id,
            state: summary.state,
            reason: summary.reason,
            complete: rows.goal.state.is_over(),
            text: markdown(&session, &rows, &questions, self.now()),
        })
    }

    /// Returns all questions of a session, the oldest first.
    async fn questions_of(&self, session: SessionId) -> Result<Vec<Question>, Error> {
        let filter = QuestionFilter {
            state: None,
            session: Some(session),
        };
        let mut page = Page::first(QUESTIONS_PER_PAGE);
        let mut questions: Vec<Question> = Vec::new();
        loop {
            let found = self.store.question_page(self.tenant, filter, page).await?;
            let Some(oldest) = found.last() else {
                break;
            };
            page.after = Some(oldest.id);
            let is_last = found.len() < page.limit as usize;
            questions.extend(found);
            if is_last {
                break;
            }
        }
        questions.reverse();
        Ok(questions)
    }
}

fn markdown(
    session: &Session,
    rows: &GoalReportRows,
    questions: &[Question],
    now: Timestamp,
) -> String {
    let goal = &rows.goal;
    let mut text = String::new();
    // 1. The goal and its outcome.
    let title = session.title.as_deref().unwrap_or(&goal.text);
    line(&mut text, &format!("# {}\n", cell(title)));
    line(&mut text, &format!("**Outcome:** {}", outcome(rows)));
    line(&mut text, &format!("\n## Goal\n\n{}", quote(&goal.text)));
    // 2. The text of the agent.
    if let Some(prose) = &rows.prose {
        let written = goal
            .tasks
            .iter()
            .rev()
            .find(|task| task.kind == TaskKind::Report && task.status == TaskStatus::Done);
        let seat = written.and_then(|task| task.seat.as_deref());
        line(&mut text, &summary_of_agent(seat, prose));
    }
    // 3. The tables.
    tasks(&mut text, &goal.tasks);
    failures(&mut text, &goal.tasks);
    rejected(&mut text, rows);
    let edits = goal.tasks.iter().filter_map(|task| {
        let edits = rows.edits_outside_writes.get(&task.id)?;
        Some((task.key.as_str(), edits))
    });
    text.push_str(&edits_section(edits));
    artifacts(&mut text, &rows.artifacts);
    write_questions(&mut text, rows, questions);
    used(&mut text, goal, now);
    text
}

/// Returns the section with the text of an agent. It is a quotation, so that the agent cannot write sections of the report.
fn summary_of_agent(seat: Option<&str>, prose: &str) -> String {
    let heading = match seat {
        Some(seat) => format!("Summary by the seat {}", cell(seat)),
        None => "Summary by an agent".to_owned(),
    };
    format!("\n## {heading}\n\n{}", quote(prose.trim()))
}

fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// Returns the state with the numbers of tasks, such as `done, 7 of 9 tasks are done, 1 failed`.
fn outcome(rows: &GoalReportRows) -> String {
    let work = || {
        rows.goal
            .tasks
            .iter()
            .filter(|task| task.kind == TaskKind::Work)
    };
    let count = |status| work().filter(|task| task.status == status).count();
    let mut outcome = format!(
        "{}; {} of {} tasks are done",
        rows.goal.state,
        count(TaskStatus::Done),
        work().count()
    );
    for (status, word) in [
        (TaskStatus::Failed, "failed"),
        (TaskStatus::Cancelled, "cancelled"),
    ] {
        let number = count(status);
        if number > 0 {
            let _ = write!(outcome, ", {number} {word}");
        }
    }
    outcome
}

fn tasks(text: &mut String, tasks: &[GoalTask]) {
    let work: Vec<_> = tasks
        .iter()
        .filter(|task| task.kind == TaskKind::Work)
        .collect();
    line(text, "\n## Tasks\n");
    if work.is_empty() {
        return line(text, "The goal has no tasks.");
    }
    line(
        text,
        "| task | title | status | seat | sent back | result or reason |",
    );
    line(text, "| --- | --- | --- | --- | --- | --- |");
    for task in work {
        let said = match task.status {
            TaskStatus::Failed | TaskStatus::Cancelled => view::reason(task),
            _ => task.result.clone(),
        };
        let row = format!(
            "| {} | {} | {} | {} | {} | {} |",
            cell(&task.key),
            cell(&task.title),
            cell(&status(task.status, task.reason)),
            cell(task.seat.as_deref().unwrap_or("-")),
            task.round,
            cell(said.as_deref().unwrap_or("-")),
        );
        line(text, &row);
    }
}

/// Returns the status of a task. That of a DONE one says how it came to be done.
fn status(status: TaskStatus, reason: Option<&str>) -> String {
    let by = match reason.and_then(|reason| reason.parse::<DoneBy>().ok()) {
        Some(DoneBy::Result) => "reported by its agent",
        Some(DoneBy::Judge) => "accepted by the judge",
        Some(DoneBy::Person) => "accepted by a person",
        Some(DoneBy::Answer) => "answer without a report",
        // The task is not DONE.
        None => return status.to_string(),
    };
    format!("{status}, {by}")
}

/// Writes the texts behind the reasons of failed tasks. The table has no rows for plans and reports, so they are here without a
/// text, too. The findings tell why a check has failed.
fn failures(text: &mut String, tasks: &[GoalTask]) {
    let failed = tasks.iter().filter(|task| {
        let has_no_row = matches!(task.kind, TaskKind::Plan | TaskKind::Report);
        task.status == TaskStatus::Failed && (task.cause.is_some() || has_no_row)
    });
    let failed: Vec<_> = failed.collect();
    if failed.is_empty() {
        return;
    }
    line(text, "\n## Failed tasks");
    for task in failed {
        let reason = view::reason(task).unwrap_or_default();
        line(
            text,
            &failed_task(&task.key, &reason, task.cause.as_deref()),
        );
    }
}

/// Returns the part about a failed task. The text behind the reason is a quotation, because an agent may have written it.
fn failed_task(key: &str, reason: &str, cause: Option<&str>) -> String {
    let head = format!("\n{}: {}", cell(key), cell(reason));
    match cause {
        Some(cause) => format!("{head}\n\n{}", quote(cause.trim())),
        None => head,
    }
}

/// Lists the findings about tasks that are not done.
fn rejected(text: &mut String, rows: &GoalReportRows) {
    let mut has_heading = false;
    for task in &rows.goal.tasks {
        let Some(found) = rows.verdicts.get(&task.id) else {
            continue;
        };
        if task.status == TaskStatus::Done || found.findings.is_empty() {
            continue;
        }
        if !has_heading {
            line(text, "\n## Findings about tasks that are not done\n");
            has_heading = true;
        }
        for finding in &found.findings {
            line(text, &finding_line(&task.key, finding));
        }
    }
}

/// Returns the line of a finding. A check has one finding, with its own name as the ID.
fn finding_line(task: &str, finding: &TaskFinding) -> String {
    let severity = (finding.severity == Severity::Minor).then(|| "minor".to_owned());
    let criterion = finding
        .criterion
        .map(|number| format!("acceptance line {number}"));
    let notes: Vec<_> = severity.into_iter().chain(criterion).collect();
    let notes = match notes.as_slice() {
        [] => String::new(),
        notes => format!(" ({})", notes.join(", ")),
    };
    let from = match &finding.check {
        Some(check) => format!("check {}", cell(check)),
        None => format!("judge, {}", cell(&finding.id)),
    };
    format!("- {}, {from}{notes}: {}", cell(task), cell(&finding.text))
}

/// Lists the newest version of each artifact.
fn artifacts(text: &mut String, artifacts: &[ReportedArtifact]) {
    if artifacts.is_empty() {
        return;
    }
    line(text, "\n## Artifacts\n");
    line(text, "| artifact | version | task |");
    line(text, "| --- | --- | --- |");
    for artifact in artifacts {
        let row = format!(
            "| {} | {} | {} |",
            cell(&artifact.name),
            artifact.version,
            cell(artifact.task.as_deref().unwrap_or("-")),
        );
        line(text, &row);
    }
}

fn write_questions(text: &mut String, rows: &GoalReportRows, questions: &[Question]) {
    if questions.is_empty() {
        return;
    }
    line(text, "\n## Questions\n");
    for question in questions {
        let seats = &rows.goal.seats;
        let seat = seats.iter().find(|seat| seat.id == question.seat_id);
        let seat = seat.map_or("-", |seat| seat.name.as_str());
        let answer = match &question.state {
            QuestionState::Pending => "no answer yet".to_owned(),
            QuestionState::Answered { by, answer, .. } => {
                format!(
                    "{} ({})",
                    cell(&text_of(answer)),
                    cell(display_name(&by.name))
                )
            }
            QuestionState::Expired { answer, .. } => {
                let answer = answer.as_ref().map_or("no answer".to_owned(), text_of);
                format!("{} (default at the deadline)", cell(&answer))
            }
            // The goal can go on without the turn that asked.
            QuestionState::Void { .. } => "no answer, and nothing waits for one".to_owned(),
        };
        line(
            text,
            &format!("- {}: {} — {answer}", cell(seat), cell(&question.text)),
        );
    }
}

fn used(text: &mut String, goal: &GoalView, now: Timestamp) {
    line(text, "\n## Usage\n");
    for used in view::limit_usage(goal, now) {
        let label = match used.limit {
            GoalLimit::Cost => "Cost",
            GoalLimit::Tokens => "Tokens",
            GoalLimit::Turns => "Turns",
            GoalLimit::Time => "Time",
        };
        let mut said = format!("- {label}: {}", used.text);
        if let (GoalLimit::Time, Some(until)) = (used.limit, goal.until) {
            let until = until.jiff().strftime("%Y-%m-%d %H:%M UTC");
            let _ = write!(said, " (until {until})");
        }
        if let Some(note) = used.note {
            let _ = write!(said, "; {}", cell(&note));
        }
        line(text, &said);
    }
    // The usage without a limit.
    if goal.budget.tokens.is_none() && goal.usage.reported_runs > 0 {
        line(text, &format!("- Tokens: {}", goal.usage.used.tokens));
    }
    if goal.budget.cost.is_none() {
        for money in goal.usage.money() {
            line(text, &format!("- Cost: {money}"));
        }
    }
    if goal.usage.unreported_runs > 0 {
        let silent = format!(
            "- Runs whose agents reported no usage: {}. The sums above lack them.",
            goal.usage.unreported_runs
        );
        line(text, &silent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn done_task_says_how_it_came_to_be_done() {
        for (reason, expected) in [
            (Some("result"), "DONE, reported by its agent"),
            (Some("judge"), "DONE, accepted by the judge"),
            (Some("person"), "DONE, accepted by a person"),
            (Some("unreported"), "DONE, answer without a report"),
            (None, "DONE"),
        ] {
            assert_eq!(status(TaskStatus::Done, reason), expected);
        }
        assert_eq!(status(TaskStatus::Failed, Some("not accepted")), "FAILED");
    }

    #[test]
    fn artifacts_have_version_and_task_in_their_table() {
        let artifact = |name: &str, version, task: Option<&str>| ReportedArtifact {
            name: name.into(),
            version,
            task: task.map(str::to_owned),
        };
        let mut text = String::new();
        artifacts(&mut text, &[]);
        assert_eq!(text, "");
        let saved = [
            artifact("mail.md", 2, Some("a")),
            artifact("x | y", 1, None),
        ];
        artifacts(&mut text, &saved);
        assert_eq!(
            text,
            "\n## Artifacts\n\n| artifact | version | task |\n| --- | --- | --- |\n\
             | mail.md | 2 | a |\n| x \\| y | 1 | - |\n"
        );
    }

    #[test]
    fn finding_names_its_check_or_its_acceptance_line() {
        let mut finding = TaskFinding {
            id: "tests".into(),
            text: "1 failed".into(),
            severity: Severity::Blocker,
            criterion: None,
            check: Some("tests".into()),
        };
        assert_eq!(
            finding_line("fix", &finding),
            "- fix, check tests: 1 failed"
        );
        finding.check = None;
        finding.severity = Severity::Minor;
        assert_eq!(
            finding_line("fix", &finding),
            "- fix, judge, tests (minor): 1 failed"
        );
        finding.criterion = Some(2);
        assert_eq!(
            finding_line("fix", &finding),
            "- fix, judge, tests (minor, acceptance line 2): 1 failed"
        );
        finding.severity = Severity::Blocker;
        assert_eq!(
            finding_line("fix", &finding),
            "- fix, judge, tests (acceptance line 2): 1 failed"
        );
    }

    #[test]
    fn text_of_agent_cannot_forge_sections() {
        let prose = "Ready.\n\n## Tasks\r| a |\r\n**Outcome:** done\n<b>x</b> [y](javascript:z)\n";
        assert_eq!(
            summary_of_agent(Some("planner"), prose),
            "\n## Summary by the seat planner\n\n> Ready.\n>\n> \\#\\# Tasks\n> \\| a \\|\n\
             > \\*\\*Outcome:\\*\\* done\n> &lt;b&gt;x&lt;/b&gt; \\[y\\](javascript:z)"
        );
        let unknown = summary_of_agent(None, "a");
        assert_eq!(unknown, "\n## Summary by an agent\n\n> a");
    }

    #[test]
    fn last_words_of_agent_are_quoted() {
        let cause = Some("I may not.\n\n## Usage\n<b>x</b>\n");
        assert_eq!(
            failed_task("plan#1", "no plan", cause),
            "\nplan\\#1: no plan\n\n> I may not.\n>\n> \\#\\# Usage\n> &lt;b&gt;x&lt;/b&gt;"
        );
        let unknown = failed_task("report#1", "no seat", None);
        assert_eq!(unknown, "\nreport\\#1: no seat");
    }
}
