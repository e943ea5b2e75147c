//! Checks whether a server runs on the data folder.

use std::{fs, os::unix::fs::MetadataExt, path::Path, sync::Arc};

use server::{DataFolder, OsEntropy, SERVE_LOCK_FILE_NAME, ServerContact};

use crate::{finding::Finding, formatting::format_count};

/// The server of a data folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ServerStatus {
    /// A server answers. Its process ID, if it is known.
    Running(Option<u32>),
    /// A process holds the lock or listens at the socket, but does not answer. Its process ID, if it is known.
    Unresponsive(Option<u32>),
    /// The folder has no server.
    Absent,
}

/// Contacts the server of a folder.
pub(crate) async fn find_server(folder: &DataFolder) -> ServerStatus {
    let lock = folder.path().join(SERVE_LOCK_FILE_NAME);
    let process = fs::read_to_string(&lock).ok();
    let process = process.and_then(|text| text.trim().parse().ok());
    match server::contact_server(folder.path(), Arc::new(OsEntropy)).await {
        ServerContact::Connected(_) => ServerStatus::Running(process),
        ServerContact::Unresponsive => ServerStatus::Unresponsive(process),
        // A server that starts or hangs may hold the lock without listening at the socket.
        ServerContact::Absent if is_locked(&lock) => ServerStatus::Unresponsive(process),
        ServerContact::Absent => ServerStatus::Absent,
    }
}

/// `true` if a process holds a lock on the file. Reads `/proc/locks` instead of trying to lock the file, because the
/// attempt could make a server fail that starts at that moment.
fn is_locked(lock: &Path) -> bool {
    let Ok(found) = fs::metadata(lock) else {
        return false;
    };
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    let inode = format!(":{}", found.ino());
    locks.lines().any(|line| {
        // A line is "1: FLOCK  ADVISORY  WRITE 4711 fd:01:1234 0 EOF", see proc_locks(5).
        let fields: Vec<_> = line.split_whitespace().collect();
        fields.get(1) == Some(&"FLOCK") && fields.get(5).is_some_and(|it| it.ends_with(&inode))
    })
}

/// Returns the finding about the server of the folder. `shared` is `true` if other instances use the database;
/// `enabled` is the number of enabled automations.
pub(crate) fn server_finding(server: &ServerStatus, shared: bool, enabled: usize) -> Finding {
    const CHECK: &str = "server";
    let who = |process: &Option<u32>| {
        process.map_or_else(|| "a process".to_owned(), |id| format!("the process {id}"))
    };
    match server {
        ServerStatus::Running(process) => {
            Finding::ok(CHECK, format!("{} serves the folder", who(process)))
        }
        ServerStatus::Unresponsive(process) => Finding::problem(
            CHECK,
            format!("{} holds the folder and does not answer", who(process)),
            "check its log, then stop it and start it again",
        ),
        ServerStatus::Absent if shared => Finding::ok(
            CHECK,
            "the folder has no server; other instances that share the database may have one",
        ),
        ServerStatus::Absent if enabled > 0 => Finding::warning(
            CHECK,
            format!(
                "the folder has no server, but {} enabled",
                format_count(enabled, "automation is", "automations are")
            ),
            "start `matins serve`, preferably as a service (docs/how-to/run-as-a-service.md)",
        ),
        ServerStatus::Absent => {
            Finding::ok(CHECK, "the folder has no server; no automation needs one")
        }
    }
}
