//! Replays a session: its transcript, with each run before its first row, and each task before its first run.

use std::collections::{BTreeMap, BTreeSet};

use api_types::{Replay, ReplayItem, Task};
use model::{SessionId, TaskId};

use crate::{Error, Service, boxed};

impl Service {
    /// Returns up to `limit` rows of a transcript after the number `after`, each run before the first of its rows, and
    /// each task of a goal before the first of its runs.
    #[boxed]
    pub async fn replay(&self, given: &str, after: i64, limit: u32) -> Result<Replay, Error> {
        let session = self.find_session(given).await?.id;
        let page = self.messages(&session.to_string(), after, limit).await?;
        let runs_on_page: BTreeSet<_> = page.items.iter().filter_map(|row| row.run_id).collect();
        // Leave out a run whose first row is on an earlier page, because that page has returned the run.
        let mut first_on_page = BTreeMap::new();
        for run in runs_on_page {
            if self.store.seq_before_run(self.scope(), run).await? >= after {
                first_on_page.insert(run, self.run_by_id(run).await?);
            }
        }
        let runs = first_on_page.values();
        let tasks = runs.filter_map(|run| Some(run.task.as_ref()?.id)).collect();
        let mut tasks = self.first_tasks(session, &tasks, after).await?;
        let mut items = Vec::with_capacity(page.items.len() + first_on_page.len() + tasks.len());
        for message in page.items {
            if let Some(run) = message.run_id.and_then(|run| first_on_page.remove(&run)) {
                let task = run.task.as_ref().and_then(|task| tasks.remove(&task.id));
                items.extend(task.map(|task| ReplayItem::Task(Box::new(task))));
                items.push(ReplayItem::Run(Box::new(run.into())));
            }
            items.push(ReplayItem::Message(message));
        }
        Ok(Replay {
            items,
            next: page.next,
        })
    }

    /// Returns those of the given tasks that have no row before the number `after`.
    async fn first_tasks(
        &self,
        session: SessionId,
        given: &BTreeSet<TaskId>,
        after: i64,
    ) -> Result<BTreeMap<TaskId, Task>, Error> {
        let mut first = BTreeSet::new();
        for task in given {
            if self.store.seq_before_task(self.scope(), *task).await? >= after {
                first.insert(*task);
            }
        }
        if first.is_empty() {
            return Ok(BTreeMap::new());
        }
        // Read all tasks at once, because reading one of them reads the whole goal, too.
        let tasks = self.tasks(&session.to_string()).await?.tasks.into_iter();
        let tasks = tasks.filter(|task| first.contains(&task.id));
        Ok(tasks.map(|task| (task.id, task)).collect())
    }
}
