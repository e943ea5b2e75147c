//! Tasks before their publication.

use sha2::{Digest, Sha256};

/// The priority of a task that names none.
pub(super) const DEFAULT_PRIORITY: u8 = 5;
/// The text that stands for an item.
const ITEM_VARIABLE: &str = "{item}";

/// A task that a planner or a person makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    /// The key, unique in the goal.
    pub key: String,
    /// The title.
    pub title: String,
    /// The description.
    pub description: String,
    /// The name of the role whose seats take the task.
    pub role: String,
    /// The keys of tasks that must be satisfied first.
    pub depends_on: Vec<String>,
    /// The lines by which the result is judged.
    pub acceptance: Vec<String>,
    /// The names of checks of the team, which Matins runs after the work.
    pub checks: Vec<String>,
    /// The path prefixes that the task writes. `None`: those of the role.
    pub writes: Option<Vec<String>>,
    /// The keys of tasks that this one replaces.
    pub replaces: Vec<String>,
    /// The rank among READY tasks, from 0, which starts first, to 9. Lower ones start first, as in the queue of runs.
    pub priority: u8,
    /// `true` if the goal can be done without the task.
    pub optional: bool,
    /// `true` if the judge has to review the result.
    pub review: bool,
    /// The items. With items, each makes a task of its own, in whose texts and paths it replaces `{item}`.
    pub each: Vec<String>,
}

/// Changes of the graph that a planner or a person makes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// The new tasks.
    pub tasks: Vec<NewTask>,
    /// The keys of tasks to cancel or to drop.
    pub drops: Vec<String>,
}

impl Plan {
    /// Returns `true` if the plan changes nothing.
    pub const fn is_empty(&self) -> bool {
        self.tasks.is_empty() && self.drops.is_empty()
    }
}

/// Returns `true` if a key names the task with the key `task`: it is that of the task, or that of the items to which the task
/// belongs. For example, `posts` names `posts` and `posts/1`, but not `posts-2`.
pub fn names_task(key: &str, task: &str) -> bool {
    let rest = task.strip_prefix(key);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl NewTask {
    /// Returns a task with default settings.
    pub fn new(key: &str, role: &str) -> Self {
        Self {
            key: key.to_owned(),
            title: key.to_owned(),
            description: String::new(),
            role: role.to_owned(),
            depends_on: Vec::new(),
            acceptance: Vec::new(),
            checks: Vec::new(),
            writes: None,
            replaces: Vec::new(),
            priority: DEFAULT_PRIORITY,
            optional: false,
            review: false,
            each: Vec::new(),
        }
    }

    /// Returns the number of tasks that this one makes.
    pub fn count(&self) -> usize {
        self.each.len().max(1)
    }

    /// Returns the key of the task of an item, counted from 0: `posts/1` for the first item of `posts`. Keys of planners have
    /// no slash, so that they never meet such a key.
    pub fn item_key(&self, index: usize) -> String {
        format!("{}/{}", self.key, index + 1)
    }

    /// Returns the length of a text with its longest item, at most. A short text can have the item many times.
    pub(super) fn filled_bytes(&self, text: &str) -> usize {
        let item = self.each.iter().map(String::len).max().unwrap_or(0);
        let added = item.saturating_sub(ITEM_VARIABLE.len());
        text.len() + text.matches(ITEM_VARIABLE).count() * added
    }

    /// Returns the titles of the tasks that this one makes.
    pub(super) fn titles(&self) -> impl Iterator<Item = String> {
        let alone = self.each.is_empty().then(|| self.title.clone());
        let filled = self.each.iter();
        let filled = filled.map(move |item| self.title.replace(ITEM_VARIABLE, item));
        alone.into_iter().chain(filled)
    }

    /// Returns the tasks that this one makes: itself, or one for each item.
    pub fn expand(&self) -> Vec<Self> {
        if self.each.is_empty() {
            return vec![self.clone()];
        }
        let task = |(index, item): (usize, &String)| {
            let fill = |text: &String| text.replace(ITEM_VARIABLE, item);
            Self {
                key: self.item_key(index),
                title: fill(&self.title),
                description: fill(&self.description),
                acceptance: self.acceptance.iter().map(fill).collect(),
                writes: self
                    .writes
                    .as_ref()
                    .map(|writes| writes.iter().map(fill).collect()),
                each: Vec::new(),
                ..self.clone()
            }
        };
        self.each.iter().enumerate().map(task).collect()
    }

    /// Returns the SHA-256 of the content: role, texts and `checks`, those that the team adds included. Key, order and paths do
    /// not count, because a planner that repeats a finished task often changes only these.
    pub(super) fn digest(&self, checks: &[String]) -> [u8; 32] {
        let mut hash = Sha256::new();
        let lists = [self.acceptance.as_slice(), checks];
        let texts = [&self.role, &self.title, &self.description];
        for text in texts.into_iter().chain(lists.into_iter().flatten()) {
            // The length in front keeps `ab` and `c` apart from `a` and `bc`.
            hash.update(text.len().to_be_bytes());
            hash.update(text.as_bytes());
        }
        hash.update(self.acceptance.len().to_be_bytes());
        hash.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_names_its_task_and_its_items() {
        for (key, task, expected) in [
            ("posts", "posts", true),
            ("posts", "posts/1", true),
            ("posts/1", "posts/1", true),
            ("posts/1", "posts/10", false),
            ("posts", "posts-2", false),
            ("posts/1", "posts", false),
        ] {
            assert_eq!(names_task(key, task), expected, "{key} {task}");
        }
    }
}
