//! Programs that drop files into the folders of instances: whole files, files that are written in place, files that
//! come again, and files that are no triggers.

use std::{
    io::Write as _,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde_json::json;
use tokio::{task::JoinSet, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{
    folder_history::ForeignFile,
    rng::Rng,
    trigger_folder::{FOREIGN_PREFIX, TriggerFolder},
};

/// The pause between two files of one program, in milliseconds.
const FILE_PAUSE_MILLIS: std::ops::Range<u64> = 500..2500;
/// The time between the two halves of a file that is written in place, in milliseconds. A runtime waits for longer.
const HALF_PAUSE_MILLIS: std::ops::Range<u64> = 100..3000;
/// The pause before a write to a full disk is tried again, and between two looks for a file.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// The percentage of files that are no triggers.
const BROKEN_PERCENT: usize = 12;
/// The percentage of the other files that are written in place.
const IN_PLACE_PERCENT: usize = 40;
/// The percentage of the other files that come again after the runtime has removed them.
const REPEATED_PERCENT: usize = 25;

/// A folder with an automation that its files may fire.
#[derive(Clone)]
pub(crate) struct FileTarget {
    pub(crate) folder: Arc<TriggerFolder>,
    /// The name of the automation.
    pub(crate) automation: &'static str,
}

/// The record of all files. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct ForeignFileLog(Arc<Mutex<Vec<ForeignFile>>>);

impl ForeignFileLog {
    fn record(&self, file: ForeignFile) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(file);
    }

    /// Returns all files so far.
    pub(crate) fn all(&self) -> Vec<ForeignFile> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.clone()
    }
}

/// Starts one program for each folder. After `stop` is cancelled, each program completes its last file, then the task
/// ends.
pub(crate) fn start(
    targets: &[FileTarget],
    dice: &Rng,
    log: &ForeignFileLog,
    stop: &CancellationToken,
) -> JoinSet<()> {
    let mut programs = JoinSet::new();
    for (number, target) in targets.iter().enumerate() {
        let program = ForeignProgram {
            target: target.clone(),
            rng: dice.derive(&format!("drops files into {number}")),
            log: log.clone(),
        };
        programs.spawn(program.run(stop.clone()));
    }
    programs
}

/// A program that drops files.
struct ForeignProgram {
    target: FileTarget,
    rng: Rng,
    log: ForeignFileLog,
}

impl ForeignProgram {
    async fn run(mut self, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = sleep(self.rng.millis(FILE_PAUSE_MILLIS)) => {}
                () = stop.cancelled() => return,
            }
            self.drop_file(&stop).await;
        }
    }

    /// Drops one file with a unique ticket.
    async fn drop_file(&mut self, stop: &CancellationToken) {
        let number = self.rng.hex_string();
        let (name, ticket) = (
            format!("{FOREIGN_PREFIX}{number}.json"),
            format!("ticket-{number}"),
        );
        let is_broken = self.rng.chance(BROKEN_PERCENT);
        let schedule = if is_broken {
            "nobody"
        } else {
            self.target.automation
        };
        let content = json!({"schedule": schedule, "params": {"ticket": ticket}}).to_string();
        self.log.record(ForeignFile {
            name: name.clone(),
            ticket,
            is_broken,
        });
        if self.rng.chance(IN_PLACE_PERCENT) {
            self.write_in_place(&name, content.as_bytes()).await;
        } else {
            self.write(&name, content.as_bytes()).await;
        }
        // The same file comes again, as after a crash of its program. A file in `failed` would be a second one.
        if !is_broken && self.rng.chance(REPEATED_PERCENT) {
            while self.target.folder.read(&name).is_some() {
                tokio::select! {
                    () = sleep(RETRY_PAUSE) => {}
                    () = stop.cancelled() => return,
                }
            }
            self.write(&name, content.as_bytes()).await;
        }
    }

    /// Writes a file under another name and renames it, again while the disk is full.
    async fn write(&self, name: &str, content: &[u8]) {
        while self.target.folder.write(name, content).is_err() {
            sleep(RETRY_PAUSE).await;
        }
    }

    /// Writes the halves of a file under its name, with a pause between them. Goes on where it was while the disk is full.
    async fn write_in_place(&mut self, name: &str, content: &[u8]) {
        let mut file = loop {
            match self.target.folder.create_file(name) {
                Ok(file) => break file,
                Err(_) => sleep(RETRY_PAUSE).await,
            }
        };
        let (first, second) = content.split_at(content.len() / 2);
        for half in [first, second] {
            let mut left = half;
            while !left.is_empty() {
                match file.write(left) {
                    Ok(written) => left = &left[written..],
                    Err(_) => sleep(RETRY_PAUSE).await,
                }
            }
            sleep(self.rng.millis(HALF_PAUSE_MILLIS)).await;
        }
    }
}
