//! The validation of plans in the naive model: keys are compared one by one, and a cycle is a task that reaches itself.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    tests_naive::{Naive, NaiveTask},
    *,
};

/// A plan that the naive model accepts.
pub(super) struct NaivePlan {
    pub(super) tasks: Vec<NaiveTask>,
    pub(super) rewired: BTreeMap<usize, BTreeSet<usize>>,
    pub(super) replaced: BTreeSet<usize>,
    pub(super) drops: Vec<usize>,
}

impl Naive {
    /// Returns the tasks that a key names among `tasks`.
    fn named(tasks: &[NaiveTask], key: &str) -> Vec<usize> {
        let work = |task: &NaiveTask| task.kind == TaskKind::Work;
        let named = |task: &NaiveTask| work(task) && (task.key == key || task.group == key);
        (0..tasks.len()).filter(|no| named(&tasks[*no])).collect()
    }

    /// Returns the plan with its keys resolved. Returns `None` if it has a fault.
    #[expect(
        clippy::too_many_lines,
        reason = "the steps of one validation, in their order"
    )]
    pub(super) fn prepare(&self, plan: &Plan) -> Option<NaivePlan> {
        let first = self.tasks.len();
        let mut all = self.tasks.clone();
        // 1. Fields.
        for new in &plan.tasks {
            let key_fits = !new.key.is_empty()
                && new.key.len() <= 40
                && new
                    .key
                    .chars()
                    .all(|it| it.is_ascii_alphanumeric() || "-_.".contains(it));
            let role_fits =
                new.role != PLANNER && self.team.seats.iter().any(|it| it.role == new.role);
            let checks_fit = new.checks.iter().all(|it| self.team.checks.contains(it));
            let paths_fit = new.writes.iter().flatten().all(|it| {
                !it.is_empty() && !it.starts_with('/') && !it.split('/').any(|part| part == "..")
            });
            let is_new = Self::named(&all, &new.key).is_empty();
            let judged = !new.review || self.has_judge();
            if !(key_fits && role_fits && checks_fit && paths_fit && is_new && judged) {
                return None;
            }
            if new.priority > 9 {
                return None;
            }
            for single in new.expand() {
                let mut task = self.blank(&single);
                task.group.clone_from(&new.key);
                all.push(task);
            }
        }
        let count = all.len() - first;
        let works = all
            .iter()
            .filter(|task| task.kind == TaskKind::Work)
            .count();
        let too_many = count > self.limits.plan as usize || works > self.limits.tasks as usize;
        if count > 0 && too_many {
            return None;
        }
        // 2. Repetitions of finished tasks.
        for task in &all[first..] {
            let content = |task: &NaiveTask| {
                let new = task.new.clone()?;
                Some((
                    new.role,
                    new.title,
                    new.description,
                    new.acceptance,
                    new.checks,
                ))
            };
            let finished = self
                .tasks
                .iter()
                .filter(|it| it.state.status() == TaskStatus::Done);
            if finished
                .filter(|it| it.new.is_some())
                .any(|it| content(it) == content(task))
            {
                return None;
            }
        }
        // 3. Replaced and dropped tasks.
        let mut replaced: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for new in &plan.tasks {
            for named in &new.replaces {
                let open: Vec<_> = Self::named(&self.tasks, named)
                    .into_iter()
                    .filter(|no| !self.tasks[*no].over())
                    .collect();
                if open.is_empty() {
                    return None;
                }
                for old in open {
                    replaced
                        .entry(old)
                        .or_default()
                        .extend(Self::named(&all, &new.key));
                }
            }
        }
        let mut drops = Vec::new();
        for named in &plan.drops {
            let droppable = |no: &usize| !self.tasks[*no].over() && !self.tasks[*no].satisfied();
            let open: Vec<_> = Self::named(&self.tasks, named)
                .into_iter()
                .filter(droppable)
                .collect();
            if open.is_empty() {
                return None;
            }
            drops.extend(open);
        }
        // 4. Dependencies.
        let exchange = |deps: &BTreeSet<usize>| {
            let mut exchanged = BTreeSet::new();
            for dep in deps {
                match replaced.get(dep) {
                    Some(new) => exchanged.extend(new),
                    None => {
                        exchanged.insert(*dep);
                    }
                }
            }
            exchanged
        };
        let mut rewired = BTreeMap::new();
        for no in 0..all.len() {
            let is_waiting = all[no].state.status() == TaskStatus::Pending;
            if no < first && is_waiting && !replaced.contains_key(&no) {
                let deps = exchange(&all[no].deps);
                if deps != all[no].deps {
                    all[no].deps.clone_from(&deps);
                    rewired.insert(no, deps);
                }
            } else if no >= first {
                let mut deps = BTreeSet::new();
                for named in all[no].new.clone()?.depends_on {
                    let found = Self::named(&all, &named);
                    if found.is_empty() {
                        return None;
                    }
                    deps.extend(found);
                }
                // A task that depends on one that it replaces then depends on itself, which is a cycle.
                all[no].deps = exchange(&deps);
            }
        }
        // 5. A cycle. Tasks that are over wait for nothing.
        let edges = |no: usize| {
            if all[no].over() {
                BTreeSet::new()
            } else {
                all[no].deps.clone()
            }
        };
        for start in 0..all.len() {
            let mut reached = edges(start);
            loop {
                let next: BTreeSet<_> = reached.iter().flat_map(|no| edges(*no)).collect();
                let before = reached.len();
                reached.extend(next);
                if reached.len() == before {
                    break;
                }
            }
            if reached.contains(&start) {
                return None;
            }
        }
        Some(NaivePlan {
            tasks: all.split_off(first),
            rewired,
            replaced: replaced.into_keys().collect(),
            drops,
        })
    }

    /// Returns `true` if a person can edit a task so.
    pub(super) fn can_edit(&self, edit: &TaskEdit) -> bool {
        let found = self.tasks.get(edit.task.0);
        let found = found.filter(|_| edit.version == self.version);
        found.is_some_and(|task| {
            let has_begun = matches!(task.state, TaskState::Running(_));
            task.new.is_some() && !has_begun && !task.over() && edit.after.priority <= 9
        })
    }

    /// Edits a task, which is a new version of the plan unless nothing changes.
    pub(super) fn edit(&mut self, edit: &TaskEdit) {
        if edit.before == edit.after {
            return;
        }
        self.leave_stuck();
        self.version += 1;
        self.idle = 0;
        self.accepted = false;
        if let Some(new) = &mut self.tasks[edit.task.0].new {
            let content = edit.after.clone();
            new.title = content.title;
            new.description = content.description;
            new.acceptance = content.acceptance;
            new.priority = content.priority;
        }
    }

    fn blank(&self, new: &NewTask) -> NaiveTask {
        let mut new = new.clone();
        let writes = new
            .writes
            .clone()
            .unwrap_or_else(|| self.default_paths(&new.role));
        let is_verified = new.role == WORKER || (new.role != JUDGE && !writes.is_empty());
        for name in &self.team.verification {
            if is_verified && !new.checks.contains(name) {
                new.checks.push(name.clone());
            }
        }
        NaiveTask {
            key: new.key.clone(),
            group: new.key.clone(),
            kind: TaskKind::Work,
            role: new.role.clone(),
            state: TaskState::Pending { unmet: 0 },
            deps: BTreeSet::new(),
            new: Some(new),
            attempts: 0,
            reminded: false,
            home: None,
            judge: None,
            judge_reminded: false,
            misses: 0,
            unreported: false,
            rounds: Vec::new(),
            passed_after: 0,
            checks: Vec::new(),
            version: self.version,
            occupies: None,
        }
    }
}
