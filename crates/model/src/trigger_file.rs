//! Trigger files: the delivery of runs into the folders of instances.
//!
//! A run of an instance of kind `directory` is delivered when its file has been written into the instance's folder. It is
//! `running` only once a runtime has begun its turn, however long the file waits.

use std::time::Duration;

use crate::{
    ids::{InstanceId, RunId},
    limits,
    run::RunState,
    time::Timestamp,
};

/// The worker of a run whose file waits for a runtime. Real workers have a process ID in their names.
pub const TRIGGER_FILE_WORKER: &str = "trigger-file";

impl RunState {
    /// Returns `true` if the trigger file of the run waits on an instance, and no runtime has claimed the run.
    pub fn waits_as_file(&self) -> bool {
        matches!(self, Self::Delivered { worker_id, .. } if worker_id.as_str() == TRIGGER_FILE_WORKER)
    }
}

/// The place where the agents of an instance run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstanceKind {
    /// The data folder of a server, which takes the turns itself.
    Host,
    /// A folder that a runtime watches.
    Directory(InstanceFolder),
    /// A kind that only a later version knows.
    Unknown(String),
}

/// The folder of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceFolder {
    /// The absolute path at which servers write trigger files.
    pub path: String,
    /// The absolute path of the same folder on the machine of the runtime. `None`: the same path.
    pub runtime_path: Option<String>,
}

impl InstanceFolder {
    /// Returns the path on servers without empty parts, by which the folders of two instances are compared.
    pub fn key(&self) -> String {
        let parts = self.path.split('/');
        let parts: Vec<_> = parts
            .filter(|part| !part.is_empty() && *part != ".")
            .collect();
        format!("/{}", parts.join("/"))
    }
}

/// The delivery of a run into the folder of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriggerFile {
    /// The run.
    pub run: RunId,
    /// The instance.
    pub instance: InstanceId,
    /// The instant in the name of the file.
    pub named_at: Timestamp,
    /// The instant of the last confirmed write. `None` if no write is confirmed.
    pub written_at: Option<Timestamp>,
    /// The number of times that the file was written. More than one if somebody removed it before the turn began, or if
    /// the run had to wait again.
    pub writes: i64,
    /// The number of failed attempts since the last confirmed write.
    pub failures: i64,
    /// The error of the last failed attempt.
    pub error: Option<String>,
    /// The instant of the next attempt, or of the next look for the file.
    pub next_attempt_at: Timestamp,
}

/// Returns the pause after the failed attempt with this number, from 1.
pub fn retry_pause(failures: i64) -> Duration {
    let doublings = u32::try_from(failures.saturating_sub(1).max(0)).unwrap_or(u32::MAX);
    let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
    limits::TRIGGER_FILE_BACKOFF
        .saturating_mul(factor)
        .min(limits::TRIGGER_FILE_BACKOFF_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_has_no_empty_parts() {
        for path in [
            "/srv/agent",
            "/srv/agent/",
            "//srv/./agent//.",
            "/./srv///agent",
        ] {
            let folder = InstanceFolder {
                path: path.into(),
                runtime_path: None,
            };
            assert_eq!(folder.key(), "/srv/agent", "{path}");
        }
    }

    #[test]
    fn pause_doubles_up_to_its_limit() {
        let seconds = |failures| retry_pause(failures).as_secs();
        assert_eq!([0, 1, 2, 3].map(seconds), [1, 1, 2, 4]);
        assert_eq!(
            [9, 10, 33, 64, i64::MAX].map(seconds),
            [256, 300, 300, 300, 300]
        );
    }
}
