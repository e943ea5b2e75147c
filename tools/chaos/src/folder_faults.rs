//! The faults of instances in folders: of their runtimes, of their way to the servers, of their disks, and of the files.

use std::{sync::Arc, time::Duration};

use rustix::process::Signal;
use tokio::time::{Instant, sleep, timeout};

use super::{
    folder_instance::FolderInstance,
    processes::{self, Process},
    proxy::Mode,
    replica::BEYOND_LEASE,
    rng::Rng,
};

/// The downtime of a killed runtime, in milliseconds.
const DOWNTIME_MILLIS: std::ops::Range<u64> = 0..2000;
/// The time for which a runtime is frozen and keeps its lease, in milliseconds.
const PAUSE_MILLIS: std::ops::Range<u64> = 500..2500;
/// The time for which the way to the servers is frozen or cut, in milliseconds.
const AWAY_MILLIS: std::ops::Range<u64> = 1500..8000;
/// The time for which a disk is full, in milliseconds.
const FULL_MILLIS: std::ops::Range<u64> = 1000..4000;
/// The maximum wait for the moment at which a runtime is killed.
const MOMENT_TIMEOUT: Duration = Duration::from_secs(6);
/// The maximum wait for a file, and until it is gone.
const FILE_TIMEOUT: Duration = Duration::from_secs(4);
/// The interval at which files are polled.
const POLL_INTERVAL: Duration = Duration::from_millis(3);

/// A kind of fault of an instance in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FolderFault {
    KillRuntime,
    KillRuntimeWithGuards,
    KillAfterClaim,
    KillAfterBegin,
    KillInTurn,
    KillAfterEnd,
    KillAfterFire,
    FreezeRuntime,
    PauseRuntime,
    StopRuntime,
    FreezeApi,
    CutApi,
    FillDisk,
    CopyFile,
    ReturnFile,
}

/// The faults of runtimes. One injector injects them, so that at most one of them is active at a time.
pub(crate) const RUNTIME_FAULTS: [FolderFault; 10] = [
    FolderFault::KillRuntime,
    FolderFault::KillAfterClaim,
    FolderFault::FreezeRuntime,
    FolderFault::KillAfterEnd,
    FolderFault::KillAfterBegin,
    FolderFault::StopRuntime,
    FolderFault::KillInTurn,
    FolderFault::KillRuntimeWithGuards,
    FolderFault::KillAfterFire,
    FolderFault::PauseRuntime,
];
/// The faults around runtimes. Another injector injects them, so that they also coincide with faults of runtimes.
pub(crate) const FOLDER_FAULTS: [FolderFault; 5] = [
    FolderFault::CopyFile,
    FolderFault::CutApi,
    FolderFault::FillDisk,
    FolderFault::ReturnFile,
    FolderFault::FreezeApi,
];

impl FolderFault {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::KillRuntime => "runtime killed",
            Self::KillRuntimeWithGuards => "runtime killed with its guards",
            Self::KillAfterClaim => "runtime killed after it has claimed a run",
            Self::KillAfterBegin => "runtime killed after its turn has begun",
            Self::KillInTurn => "runtime killed after it has recorded an answer",
            Self::KillAfterEnd => {
                "runtime killed between the end of a run and the removal of its file"
            }
            Self::KillAfterFire => "runtime killed after it has fired by a file",
            Self::FreezeRuntime => "runtime frozen beyond its lease",
            Self::PauseRuntime => "runtime frozen for a moment",
            Self::StopRuntime => "runtime stopped by SIGTERM, and started again",
            Self::FreezeApi => "connections of a runtime frozen",
            Self::CutApi => "connections of a runtime cut",
            Self::FillDisk => "disk of a folder full",
            Self::CopyFile => "file of a run copied",
            Self::ReturnFile => "file of a run returned after its removal",
        }
    }

    /// Returns the end of the path of the request after which the runtime is killed.
    const fn moment(self) -> Option<&'static str> {
        match self {
            Self::KillAfterClaim => Some("/claim"),
            Self::KillAfterBegin => Some("/begin"),
            Self::KillInTurn => Some("/record"),
            Self::KillAfterEnd => Some("/finish"),
            Self::KillAfterFire => Some("/triggers"),
            _ => None,
        }
    }
}

/// Injects a fault and repairs it. Returns `false` if the fault had no target.
///
/// # Errors
///
/// Returns a message if the instance reacts unexpectedly.
pub(crate) async fn inject(
    fault: FolderFault,
    instance: &FolderInstance,
    root: &std::path::Path,
    rng: &mut Rng,
) -> Result<bool, String> {
    let FolderInstance {
        folder,
        proxy,
        runtime,
        ..
    } = instance;
    if let Some(path_end) = fault.moment() {
        return Ok(kill_at(path_end, instance, rng).await);
    }
    Ok(match fault {
        FolderFault::KillRuntime => {
            let there = runtime.pid().is_some();
            runtime.kill().await;
            sleep(rng.millis(DOWNTIME_MILLIS)).await;
            runtime.set_wanted(true);
            there
        }
        FolderFault::KillRuntimeWithGuards => {
            let Some(pid) = runtime.pid() else {
                return Ok(false);
            };
            // Freeze the runtime first, as a server is frozen before its guards are listed.
            runtime.signal(Signal::STOP);
            let mut guards = processes::find_agents(root);
            guards.retain(|process| process.is_guard() && process.parent == pid);
            runtime.kill().await;
            let kill = |guard: &&Process| processes::signal(guard.pid, Signal::KILL);
            let killed = guards.iter().filter(kill).count();
            sleep(rng.millis(DOWNTIME_MILLIS)).await;
            runtime.set_wanted(true);
            killed > 0
        }
        FolderFault::FreezeRuntime => freeze(instance, BEYOND_LEASE + rng.millis(0..2000)).await,
        FolderFault::PauseRuntime => freeze(instance, rng.millis(PAUSE_MILLIS)).await,
        FolderFault::StopRuntime => {
            let there = runtime.pid().is_some();
            let stopped = runtime.stop().await;
            runtime.set_wanted(true);
            if !stopped {
                let number = instance.config.number;
                return Err(format!(
                    "runtime {number} did not stop in time after SIGTERM"
                ));
            }
            there
        }
        FolderFault::FreezeApi | FolderFault::CutApi => {
            let met = proxy.has_connections();
            proxy.set_mode(if fault == FolderFault::CutApi {
                Mode::Cut
            } else {
                Mode::Frozen
            });
            sleep(rng.millis(AWAY_MILLIS)).await;
            proxy.set_mode(Mode::Open);
            met
        }
        FolderFault::FillDisk => {
            if !folder.has_own_disk() {
                return Ok(false);
            }
            let full = folder.fill();
            sleep(rng.millis(FULL_MILLIS)).await;
            folder
                .free()
                .map_err(|error| format!("the disk cannot be freed: {error}"))?;
            full
        }
        FolderFault::CopyFile => {
            let Some((name, content)) = wait_for_file(instance).await else {
                return Ok(false);
            };
            // One copy comes before the file, and one after it.
            let number = rng.hex_string();
            let copies = [
                format!("0-copy-{number}.json"),
                format!("{name}-{number}.json"),
            ];
            copies
                .iter()
                .all(|copy| folder.write(copy, &content).is_ok())
        }
        FolderFault::ReturnFile => {
            let Some((name, content)) = wait_for_file(instance).await else {
                return Ok(false);
            };
            let gone = timeout(FILE_TIMEOUT, async {
                while folder.read(&name).is_some() {
                    sleep(POLL_INTERVAL).await;
                }
            });
            gone.await.is_ok() && folder.write(&name, &content).is_ok()
        }
        _ => false,
    })
}

/// Kills a runtime when the reply to its next request of a kind is on its way: the server has recorded the request, and
/// the runtime does not know that.
async fn kill_at(path_end: &'static str, instance: &FolderInstance, rng: &mut Rng) -> bool {
    let runtime = Arc::clone(&instance.runtime);
    let tripped = instance.proxy.set_tripwire(path_end, move || {
        runtime.kill_now();
    });
    let killed = timeout(MOMENT_TIMEOUT, tripped).await;
    instance.proxy.clear_tripwire();
    sleep(rng.millis(DOWNTIME_MILLIS)).await;
    instance.runtime.set_wanted(true);
    killed.is_ok_and(|tripped| tripped.is_ok())
}

/// Freezes a runtime for a time. Returns `false` if it was not alive until the end.
async fn freeze(instance: &FolderInstance, time: Duration) -> bool {
    let pid = instance.runtime.pid();
    let frozen = instance.runtime.signal(Signal::STOP);
    sleep(time).await;
    // Only this injector kills and restarts runtimes, so the process ID still belongs to the frozen one.
    pid.is_some_and(|pid| processes::signal(pid, Signal::CONT)) && frozen
}

/// Waits for a file that a server has written, and reads it.
async fn wait_for_file(instance: &FolderInstance) -> Option<(String, Vec<u8>)> {
    let until = Instant::now() + FILE_TIMEOUT;
    while Instant::now() < until {
        let names = instance.folder.delivered_files().unwrap_or_default();
        for name in names {
            if let Some(content) = instance.folder.read(&name) {
                return Some((name, content));
            }
        }
        sleep(POLL_INTERVAL).await;
    }
    None
}
