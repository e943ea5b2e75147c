//! The validation of plans.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    goal::{
        cycle::find_cycle,
        graph::Graph,
        limits::MAX_DEPENDENCIES,
        new_task::{NewTask, Plan},
        plan_error::PlanError,
        plan_fields,
        task::{Progress, Task, TaskKind, TaskNo, TaskState, TaskStatus},
        team::JUDGE,
        writes,
    },
    nearest::nearest,
};

/// The highest number of faults that are reported at once.
const MAX_FAULTS: usize = 20;
/// The highest number of keys that are compared to find the most similar one.
const MAX_COMPARED_KEYS: usize = 1000;

/// A plan that can be published.
pub(super) struct PreparedPlan {
    /// The new tasks, in the order of their numbers. Their states are not decided yet.
    pub(super) tasks: Vec<Task>,
    /// The tasks of each new key.
    pub(super) keys: BTreeMap<String, Vec<TaskNo>>,
    /// The tasks that others replace, with these others.
    pub(super) replaced: BTreeMap<TaskNo, Vec<TaskNo>>,
    /// The PENDING tasks whose dependencies change, with the new ones.
    pub(super) rewired: BTreeMap<TaskNo, Vec<TaskNo>>,
    /// The tasks to cancel or to drop.
    pub(super) drops: Vec<TaskNo>,
}

/// Checks a plan against the graph, as its publication does.
///
/// # Errors
///
/// The first 20 faults.
pub fn validate(graph: &Graph, plan: &Plan) -> Result<(), Vec<PlanError>> {
    prepare(graph, plan).map(drop)
}

/// Checks a plan against the graph, and resolves its keys.
///
/// # Errors
///
/// The first 20 faults. Counts come before everything else, so that a plan which is far too long costs little.
pub(super) fn prepare(graph: &Graph, plan: &Plan) -> Result<PreparedPlan, Vec<PlanError>> {
    check_counts(graph, plan).map_err(|fault| vec![fault])?;
    let mut planner = Preparation {
        graph,
        plan,
        new_keys: BTreeMap::new(),
        faults: Vec::new(),
    };
    planner.check_fields();
    planner.number_tasks();
    let prepared = planner.resolve();
    if planner.faults.is_empty() {
        prepared.ok_or_else(Vec::new)
    } else {
        Err(planner.faults)
    }
}

fn check_counts(graph: &Graph, plan: &Plan) -> Result<(), PlanError> {
    let count: usize = plan.tasks.iter().map(NewTask::count).sum();
    let all = count + graph.work_count as usize;
    let limits = [
        ("plan", "plan", count, graph.limits.plan),
        ("goal", "tasks", all, graph.limits.tasks),
    ];
    for (what, limit, count, accepted) in limits {
        if count > accepted as usize && !plan.tasks.is_empty() {
            return Err(PlanError::TooManyTasks {
                what,
                limit,
                count,
                accepted,
            });
        }
    }
    Ok(())
}

struct Preparation<'a> {
    graph: &'a Graph,
    plan: &'a Plan,
    new_keys: BTreeMap<String, Vec<TaskNo>>,
    faults: Vec<PlanError>,
}

impl Preparation<'_> {
    fn fault(&mut self, fault: PlanError) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(fault);
        }
    }

    /// Checks the fields of each task by itself.
    fn check_fields(&mut self) {
        let plan = self.plan;
        for task in &plan.tasks {
            for fault in plan_fields::faults(self.graph, task) {
                self.fault(fault);
            }
        }
    }

    /// Gives each new task its number. A key with items names all of its tasks, and `posts/1` the first of them.
    fn number_tasks(&mut self) {
        let mut next = self.graph.tasks.len();
        let plan = self.plan;
        for task in &plan.tasks {
            let numbers: Vec<_> = (next..next + task.count()).map(TaskNo).collect();
            next += task.count();
            for (index, no) in numbers.iter().enumerate().take(task.each.len()) {
                self.new_keys.insert(task.item_key(index), vec![*no]);
            }
            if self.new_keys.insert(task.key.clone(), numbers).is_some() {
                self.fault(PlanError::RepeatedKey(task.key.clone()));
            }
        }
    }

    /// Resolves the keys. Returns `None` after a fault.
    fn resolve(&mut self) -> Option<PreparedPlan> {
        let plan = self.plan;
        // 1. The tasks to replace and to drop.
        let mut replaced: BTreeMap<TaskNo, Vec<TaskNo>> = BTreeMap::new();
        for task in &plan.tasks {
            for named in &task.replaces {
                for old in self.open_tasks("replaces", &task.key, named) {
                    let new = self.new_keys.get(task.key.as_str());
                    replaced
                        .entry(old)
                        .or_default()
                        .extend(new.into_iter().flatten());
                }
            }
        }
        let mut drops = Vec::new();
        for named in &plan.drops {
            drops.extend(self.open_tasks("drops", "plan", named));
        }
        // 2. The dependencies, with each replaced task exchanged for the new ones.
        let mut dependencies = Vec::with_capacity(plan.tasks.len());
        for task in &plan.tasks {
            dependencies.push(self.dependencies(task, &replaced));
        }
        if !self.faults.is_empty() {
            return None;
        }
        self.check_dependency_count(&dependencies, &replaced).ok()?;
        let rewired = self.rewired(&replaced);
        // 3. The tasks.
        let mut tasks = Vec::new();
        for (task, depends_on) in plan.tasks.iter().zip(dependencies) {
            for single in task.expand() {
                if let Some(task) = self.build(&single, depends_on.clone()) {
                    tasks.push(task);
                }
            }
        }
        if !self.faults.is_empty() {
            return None;
        }
        if let Some(cycle) = find_cycle(self.graph, &tasks, &rewired) {
            self.fault(PlanError::Cycle(cycle));
            return None;
        }
        Some(PreparedPlan {
            tasks,
            keys: std::mem::take(&mut self.new_keys),
            replaced,
            rewired,
            drops,
        })
    }

    /// Returns the tasks of a key that can be replaced or dropped. Of a key with several tasks, those that are over are left
    /// out, because DONE tasks never change.
    fn open_tasks(&mut self, field: &'static str, key: &str, named: &str) -> Vec<TaskNo> {
        let all = self.graph.named(named);
        let Some(first) = all.first() else {
            self.unknown_key(field, key, named);
            return Vec::new();
        };
        let task = |no: &TaskNo| &self.graph.tasks[no.0];
        let open = all.iter().copied().filter(|no| match task(no).status() {
            TaskStatus::Pending | TaskStatus::Ready | TaskStatus::Running => true,
            // Nothing waits for an optional task that has failed, so dropping it would only cancel later tasks.
            TaskStatus::Failed => field == "replaces" || !task(no).optional,
            TaskStatus::Done | TaskStatus::Cancelled => false,
        });
        let open: Vec<_> = open.collect();
        if open.is_empty() {
            let status = task(first).status();
            self.fault(PlanError::Status {
                field,
                named: named.to_owned(),
                status,
                accepted: "PENDING, READY, RUNNING and FAILED tasks are accepted, optional FAILED ones only in `replaces`",
            });
        }
        open
    }

    fn unknown_key(&mut self, field: &'static str, key: &str, named: &str) {
        let known = self.graph.keys.keys().map(String::as_str);
        let known = self.new_keys.keys().map(String::as_str).chain(known);
        let nearest = nearest(named, known.take(MAX_COMPARED_KEYS)).map(str::to_owned);
        self.fault(PlanError::UnknownKey {
            field,
            key: key.to_owned(),
            named: named.chars().take(80).collect(),
            nearest,
        });
    }

    /// Returns the tasks on which a new one depends, without repetitions.
    fn dependencies(
        &mut self,
        task: &NewTask,
        replaced: &BTreeMap<TaskNo, Vec<TaskNo>>,
    ) -> Vec<TaskNo> {
        let mut found = BTreeSet::new();
        for named in &task.depends_on {
            let new = self.new_keys.get(named.as_str()).map(Vec::as_slice);
            let numbers = new.unwrap_or_else(|| self.graph.named(named));
            if numbers.is_empty() {
                self.unknown_key("depends_on", &task.key, named);
                continue;
            }
            let own = self.new_keys.get(task.key.as_str());
            let own = own.and_then(|numbers| numbers.first()).copied();
            let is_own = |no: &TaskNo| Some(*no) == own;
            let depends_on_replaced = numbers.iter().any(|no| {
                let new = replaced.get(no);
                new.is_some_and(|new| new.iter().any(is_own))
            });
            for no in numbers {
                match replaced.get(no) {
                    Some(new) => found.extend(new),
                    None => {
                        found.insert(*no);
                    }
                }
            }
            if depends_on_replaced {
                self.fault(PlanError::DependsOnReplaced {
                    key: task.key.clone(),
                    named: named.clone(),
                });
            }
        }
        found.into_iter().collect()
    }

    /// Counts the dependencies before they are copied to each task of a key.
    fn check_dependency_count(
        &mut self,
        dependencies: &[Vec<TaskNo>],
        replaced: &BTreeMap<TaskNo, Vec<TaskNo>>,
    ) -> Result<(), ()> {
        let tasks = self.plan.tasks.iter().zip(dependencies);
        let new: usize = tasks.map(|(task, all)| task.count() * all.len()).sum();
        let moved = replaced
            .iter()
            .map(|(old, new)| self.graph.tasks[old.0].dependents.len() * new.len());
        let count = self.graph.dependency_count + new + moved.sum::<usize>();
        if count > MAX_DEPENDENCIES {
            self.fault(PlanError::TooManyDependencies(count, MAX_DEPENDENCIES));
            return Err(());
        }
        Ok(())
    }

    /// Returns the new dependencies of the PENDING tasks behind replaced ones. Tasks that have been released keep theirs.
    fn rewired(&self, replaced: &BTreeMap<TaskNo, Vec<TaskNo>>) -> BTreeMap<TaskNo, Vec<TaskNo>> {
        let mut rewired = BTreeMap::new();
        let behind = replaced
            .keys()
            .flat_map(|old| &self.graph.tasks[old.0].dependents);
        for no in behind {
            let task = &self.graph.tasks[no.0];
            // A task that is replaced itself needs no dependencies.
            if task.status() != TaskStatus::Pending || replaced.contains_key(no) {
                continue;
            }
            rewired.entry(*no).or_insert_with(|| {
                let mut all = BTreeSet::new();
                for old in &task.depends_on {
                    match replaced.get(old) {
                        Some(new) => all.extend(new.iter().copied()),
                        None => {
                            all.insert(*old);
                        }
                    }
                }
                all.into_iter().collect()
            });
        }
        rewired
    }

    /// Returns a task of the graph. Returns `None` after a fault.
    fn build(&mut self, task: &NewTask, depends_on: Vec<TaskNo>) -> Option<Task> {
        let role = self.graph.team.role(&task.role)?;
        let defaults = || self.graph.team.roles[role].default_writes();
        let mut prefixes = Vec::new();
        for path in task.writes.clone().unwrap_or_else(defaults) {
            match writes::normalize(&path) {
                Some(prefix) => prefixes.push(prefix),
                None => self.fault(PlanError::Path {
                    key: task.key.clone(),
                    path,
                }),
            }
        }
        let prefixes = writes::without_covered(prefixes);
        let checks = self.graph.team.checks_of(task, !prefixes.is_empty());
        let digest = task.digest(&checks);
        if let Some(finished) = self.graph.finished.get(&digest) {
            let finished = self.graph.tasks[finished.0].key.clone();
            let key = task.key.clone();
            self.fault(PlanError::Duplicate { key, finished });
        }
        Some(Task {
            key: task.key.clone(),
            kind: TaskKind::Work,
            role,
            state: TaskState::Ready,
            depends_on,
            dependents: Vec::new(),
            priority: task.priority,
            optional: task.optional,
            // A judge would accept its own work.
            review: task.review && task.role != JUDGE,
            acceptance: task.acceptance.len(),
            checks,
            writes: prefixes,
            plan_version: self.graph.plan_version + 1,
            digest,
            progress: Progress::default(),
        })
    }
}
