//! The memories of tasks: the agent sessions that the turns of one task continue on a seat.
//!
//! A seat whose memory is `task` has one memory for the work on each task, and one for its reviews. The row of the seat has
//! none of them. **Invariant:** a transition that writes a memory holds the lock of its seat.

use std::collections::{HashMap, HashSet};

use model::{
    AcpSessionId, InstanceId, SeatId, SessionId, TaskId, TenantId, Timestamp,
    entity::{Run, Seat},
};
use serde_json::Value;

use crate::{
    Error,
    database::{Param, Row, Tx},
    runs::{run_usage::usage_reading, turn_context::SeatWithFormat},
};

/// The task, the seat and the activity that have a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct MemoryKey {
    pub(super) task: TaskId,
    pub(super) seat: SeatId,
    pub(super) is_review: bool,
}

impl MemoryKey {
    fn of(run: &Run) -> Option<Self> {
        let task = run.task?;
        Some(Self {
            task: task.id,
            seat: run.seat_id?,
            is_review: task.is_review,
        })
    }

    fn read(row: &Row) -> Result<Self, Error> {
        Ok(Self {
            task: row.get("task_id")?,
            seat: row.get("seat_id")?,
            is_review: row.get("review")?,
        })
    }

    pub(super) fn params(self) -> Vec<Param> {
        params![self.task, self.seat, self.is_review]
    }

    fn params_with(self, value: impl Into<Param>) -> Vec<Param> {
        let mut params = self.params();
        params.push(value.into());
        params
    }
}

/// A memory of a task.
struct TaskMemory {
    instance: Option<InstanceId>,
    acp_session: Option<AcpSessionId>,
    turns: i64,
    usage: Option<Value>,
    updated_at: Timestamp,
}

/// The memories of turns of tasks.
pub(super) struct TaskMemories(HashMap<MemoryKey, TaskMemory>);

impl TaskMemories {
    /// Reads the memories of runs. A run whose seat has one memory for all turns has none.
    pub(super) async fn read(tx: &mut Tx, runs: impl Iterator<Item = &Run>) -> Result<Self, Error> {
        let keys: HashSet<_> = runs.filter_map(MemoryKey::of).collect();
        let keys = keys.into_iter().map(MemoryKey::params).collect();
        let rows = tx
            .fetch_rows(sql!("task_memories/of_turns"), keys, params![])
            .await?;
        let mut found = HashMap::with_capacity(rows.len());
        for row in &rows {
            let memory = TaskMemory {
                instance: row.optional("instance_id")?,
                acp_session: row.optional("acp_session_id")?,
                turns: row.get("turns")?,
                usage: row.optional("usage")?,
                updated_at: row.get("updated_at")?,
            };
            found.insert(MemoryKey::read(row)?, memory);
        }
        Ok(Self(found))
    }

    /// Returns the key of the memory of a run's turn. Returns `None` if the turn has the memory of its seat.
    pub(super) fn key(&self, run: &Run) -> Option<MemoryKey> {
        MemoryKey::of(run).filter(|key| self.0.contains_key(key))
    }

    /// Returns the seat with the memory of a run's turn.
    pub(super) fn seat_of_turn(&self, run: &Run, found: SeatWithFormat) -> Seat {
        let seat = found.seat;
        let key = self.key(run);
        let Some(memory) = key.and_then(|key| self.0.get(&key)) else {
            return seat;
        };
        // The files of a shared directory are where the first turn of the seat has run, unless they are on all servers. A
        // folder of a seat may begin anew.
        let of_files = seat.instance_id.filter(|_| found.files_on_one_server);
        Seat {
            instance_id: memory.instance.or(of_files),
            acp_session_id: memory.acp_session.clone(),
            turns: memory.turns,
            usage: memory.usage.clone(),
            updated_at: memory.updated_at,
            ..seat
        }
    }
}

/// Pins the memories of tasks whose first turns begin.
pub(super) async fn pin_memories(
    tx: &mut Tx,
    keys: Vec<MemoryKey>,
    instance: InstanceId,
    now: Timestamp,
) -> Result<(), Error> {
    let keys = keys.into_iter().map(MemoryKey::params).collect();
    tx.execute_rows(sql!("task_memories/pin"), keys, params![instance, now])
        .await?;
    Ok(())
}

/// The changes of memories by the ends of their turns.
#[derive(Default)]
pub(super) struct MemoryEnds {
    remembered: Vec<Vec<Param>>,
    readings: Vec<Vec<Param>>,
    unpinned: Vec<Vec<Param>>,
}

impl MemoryEnds {
    /// Adds the end of a turn. `acp_session` is `None` if the turn has not ended by itself.
    pub(super) fn add(
        &mut self,
        key: MemoryKey,
        acp_session: Option<&AcpSessionId>,
        usage: Option<&Value>,
    ) {
        match acp_session {
            Some(session) => self.remembered.push(key.params_with(session.as_str())),
            None => self.unpinned.push(key.params()),
        }
        let reading = usage.map(usage_reading);
        self.readings.extend(reading.map(|it| key.params_with(it)));
    }

    /// Writes the changes.
    pub(super) async fn write(self, tx: &mut Tx, now: Timestamp) -> Result<(), Error> {
        tx.execute_rows(
            sql!("task_memories/remember"),
            self.remembered,
            params![now],
        )
        .await?;
        tx.execute_rows(sql!("task_memories/set_usage"), self.readings, params![])
            .await?;
        tx.execute_rows(sql!("task_memories/unpin"), self.unpinned, params![now])
            .await?;
        Ok(())
    }
}

/// A turn that starts with the memory of its task.
pub(super) struct StartingMemory {
    pub(super) key: MemoryKey,
    /// `true` if the turn begins a new memory.
    pub(super) is_new: bool,
}

/// Prepares the memories of turns that start. Returns the tasks whose memory was on an instance that was removed, so that the
/// next turn begins a new one.
pub(super) async fn prepare_memories(
    tx: &mut Tx,
    (tenant, session): (TenantId, SessionId),
    turns: &[StartingMemory],
    now: Timestamp,
) -> Result<HashSet<TaskId>, Error> {
    // 1. Find the memories that are lost.
    let resumed = turns.iter().filter(|turn| !turn.is_new);
    let resumed = resumed.map(|turn| turn.key.params()).collect();
    let rows = tx
        .fetch_rows(sql!("task_memories/lost"), resumed, params![])
        .await?;
    let lost = rows.iter().map(MemoryKey::read);
    let lost: Vec<MemoryKey> = lost.collect::<Result<_, _>>()?;
    // 2. Replace them, and those of earlier turns that the task does not resume.
    let new = turns.iter().filter(|turn| turn.is_new).map(|turn| turn.key);
    let replaced = new.chain(lost.iter().copied()).map(MemoryKey::params);
    tx.execute_rows(sql!("task_memories/delete"), replaced.collect(), params![])
        .await?;
    let rows = turns.iter().map(|StartingMemory { key, .. }| {
        params![tenant, session, key.task, key.seat, key.is_review]
    });
    tx.execute_rows(sql!("task_memories/insert"), rows.collect(), params![now])
        .await?;
    Ok(lost.into_iter().map(|key| key.task).collect())
}
