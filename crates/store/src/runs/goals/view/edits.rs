//! The edits that agents report outside of the paths of their tasks.

use std::collections::HashMap;

use model::{SeatId, SessionId, TaskId, TenantId, WorkingDirectory, goal::EditsOutsideWrites};

use crate::{Error, database::Tx, rows, store::Store};

/// The number of tasks whose edits are read at once.
const TASKS_PER_READ: usize = 4;
/// The longest path, in characters. Longer ones are cut.
const MAX_PATH_CHARS: u32 = 1024;
/// The highest number of different paths of a task that are compared with those that it writes.
const MAX_PATHS_PER_TASK: u32 = 10_000;

impl Store {
    /// Returns the edits outside of the paths of each of these tasks of a session. Leaves out tasks without such edits.
    ///
    /// The database takes the paths out of the transcript, so that no more than those of a few tasks are in memory at once.
    pub(super) async fn read_edits_outside_writes(
        &self,
        tx: &mut Tx,
        session: SessionId,
        tasks: &[(TaskId, &[String])],
    ) -> Result<HashMap<TaskId, EditsOutsideWrites>, Error> {
        let mut directories = HashMap::new();
        let mut found = HashMap::new();
        for some in tasks.chunks(TASKS_PER_READ) {
            let ids = some.iter().map(|(id, _)| params![*id]).collect();
            let limits = params![MAX_PATH_CHARS, MAX_PATHS_PER_TASK];
            let rows = tx
                .fetch_rows(sql_of_each!("tasks/edits"), ids, limits)
                .await?;
            let mut edited: HashMap<TaskId, Vec<(SeatId, String)>> = HashMap::new();
            for row in &rows {
                let edits = edited.entry(row.get("task_id")?).or_default();
                edits.push((row.get("seat_id")?, row.get("path")?));
            }
            if edited.is_empty() {
                continue;
            }
            if directories.is_empty() {
                directories = self.read_directories(tx, session).await?;
            }
            for (id, writes) in some {
                let edits = edited.remove(id).unwrap_or_default();
                let edits = edits
                    .iter()
                    .filter_map(|(seat, path)| Some((path.as_str(), directories.get(seat)?)));
                let edits = EditsOutsideWrites::of(edits, writes);
                if !edits.is_empty() {
                    found.insert(*id, edits);
                }
            }
        }
        Ok(found)
    }

    /// Returns the directory of each seat of a session, on this server.
    async fn read_directories(
        &self,
        tx: &mut Tx,
        session: SessionId,
    ) -> Result<HashMap<SeatId, WorkingDirectory>, Error> {
        let of_session = params![None::<TenantId>, session];
        let row = tx.fetch_one(sql!("sessions/by_id"), of_session).await?;
        let session = rows::session(&row)?;
        let of_session = params![None::<TenantId>, session.id];
        let rows = tx.fetch_all(sql!("seats/of_session"), of_session).await?;
        let mut directories = HashMap::with_capacity(rows.len());
        for row in &rows {
            let seat = rows::seat(row)?;
            let path = || self.seat_directory(&session, &seat);
            directories.insert(seat.id, seat.working_directory(&session, path));
        }
        Ok(directories)
    }
}
