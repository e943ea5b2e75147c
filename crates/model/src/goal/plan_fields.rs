//! The fields of a new task by themselves.

use crate::{
    goal::{
        graph::Graph,
        new_task::NewTask,
        plan_error::PlanError,
        team::PLANNER,
        text_limits::{
            ACCEPTANCE_BYTES, DESCRIPTION_BYTES, ITEM_BYTES, KEY_BYTES, MAX_ACCEPTANCE, MAX_CHECKS,
            MAX_DEPENDS_ON, MAX_ITEMS, MAX_PRIORITY, MAX_REPLACES, MAX_WRITES, NAME_BYTES,
            PATH_BYTES, REFERENCE_BYTES, TITLE_BYTES,
        },
    },
    one_line::is_one_line,
};

/// Returns the faults of the fields of a task.
pub(super) fn faults(graph: &Graph, task: &NewTask) -> Vec<PlanError> {
    let key = || task.key.clone();
    if !is_key(&task.key) {
        return own_faults(task);
    }
    let mut faults = Vec::new();
    if let Some(used) = graph.named(&task.key).first() {
        let (key, status) = (key(), graph.tasks[used.0].status());
        faults.push(PlanError::UsedKey { key, status });
    }
    faults.extend(role_fault(graph, task));
    faults.extend(own_faults(task));
    let accepted: Vec<_> = graph.team.checks.iter().map(String::as_str).collect();
    let accepted = if accepted.is_empty() {
        "no check, because the team has none".to_owned()
    } else {
        accepted.join(", ")
    };
    let unknown = task
        .checks
        .iter()
        .filter(|it| !graph.team.checks.contains(*it));
    faults.extend(unknown.map(|named| PlanError::UnknownCheck {
        key: key(),
        named: named.chars().take(80).collect(),
        accepted: accepted.clone(),
    }));
    if task.review && graph.judge_role().is_none() {
        faults.push(PlanError::NoJudge(key()));
    }
    faults
}

/// Returns the faults of a task that do not depend on its goal.
pub(super) fn own_faults(task: &NewTask) -> Vec<PlanError> {
    if !is_key(&task.key) {
        // Without a key, no other fault could name its task.
        return vec![PlanError::Key(task.key.chars().take(80).collect())];
    }
    content_faults(task)
}

/// Returns the faults of the sizes and of the priority of a task.
pub(super) fn content_faults(task: &NewTask) -> Vec<PlanError> {
    let mut faults = size_faults(task);
    faults.extend(title_fault(task));
    if task.priority > MAX_PRIORITY {
        let (key, priority) = (task.key.clone(), task.priority);
        faults.push(PlanError::Priority { key, priority });
    }
    faults
}

/// Refuses the role of the planner too, because the graph makes its tasks.
fn role_fault(graph: &Graph, task: &NewTask) -> Option<PlanError> {
    let roles = graph.team.roles.iter().map(|role| role.name.as_str());
    let accepted: Vec<_> = roles.filter(|role| *role != PLANNER).collect();
    if accepted.is_empty() {
        return Some(PlanError::NoRole(task.key.clone()));
    }
    let is_accepted = accepted.contains(&task.role.as_str());
    (!is_accepted).then(|| PlanError::Role {
        key: task.key.clone(),
        role: task.role.chars().take(80).collect(),
        accepted: accepted.join(" or "),
    })
}

/// Refuses a title that is not one line. A title that is too long has a fault of its own.
fn title_fault(task: &NewTask) -> Option<PlanError> {
    if task.filled_bytes(&task.title) > TITLE_BYTES {
        return None;
    }
    let title = task.titles().find(|title| !is_one_line(title))?;
    let key = task.key.clone();
    Some(PlanError::Title { key, title })
}

fn size_faults(task: &NewTask) -> Vec<PlanError> {
    let longest = |texts: &[String]| texts.iter().map(String::len).max().unwrap_or(0);
    let longest_filled = |texts: &[String]| {
        let lengths = texts.iter().map(|text| task.filled_bytes(text));
        lengths.max().unwrap_or(0)
    };
    let writes = task.writes.as_deref().unwrap_or_default();
    let key = || task.key.clone();
    let lengths = [
        ("title", task.filled_bytes(&task.title), TITLE_BYTES),
        (
            "description",
            task.filled_bytes(&task.description),
            DESCRIPTION_BYTES,
        ),
        ("role", task.role.len(), NAME_BYTES),
        ("depends_on", longest(&task.depends_on), REFERENCE_BYTES),
        (
            "acceptance",
            longest_filled(&task.acceptance),
            ACCEPTANCE_BYTES,
        ),
        ("checks", longest(&task.checks), NAME_BYTES),
        ("writes", longest_filled(writes), PATH_BYTES),
        ("replaces", longest(&task.replaces), REFERENCE_BYTES),
        ("each", longest(&task.each), ITEM_BYTES),
    ];
    let counts = [
        ("depends_on", task.depends_on.len(), MAX_DEPENDS_ON),
        ("acceptance", task.acceptance.len(), MAX_ACCEPTANCE),
        ("checks", task.checks.len(), MAX_CHECKS),
        ("writes", writes.len(), MAX_WRITES),
        ("replaces", task.replaces.len(), MAX_REPLACES),
        ("each", task.each.len(), MAX_ITEMS),
    ];
    let lengths = lengths
        .into_iter()
        .filter(|(_, length, accepted)| length > accepted);
    let counts = counts
        .into_iter()
        .filter(|(_, count, accepted)| count > accepted);
    let lengths = lengths.map(|(field, length, accepted)| PlanError::Length {
        field,
        key: key(),
        length,
        accepted,
    });
    let counts = counts.map(|(field, count, accepted)| PlanError::Entries {
        field,
        key: key(),
        count,
        accepted,
    });
    lengths.chain(counts).collect()
}

/// Returns `true` if a planner can use a text as the key of a task. Keys of the tasks that the graph makes have a `#`, and
/// those of items a `/`, so that no plan can use them.
fn is_key(text: &str) -> bool {
    let accepted = |letter: u8| letter.is_ascii_alphanumeric() || b"-_.".contains(&letter);
    !text.is_empty() && text.len() <= KEY_BYTES && text.bytes().all(accepted)
}
