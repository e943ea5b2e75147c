//! The recovery after the last fault: waits until the triggers have caught up, pauses the automations, waits until no
//! run is open, and collects the logs, survivors and leaked secrets.

use std::{collections::HashMap, fs, path::Path, time::Duration};

use anyhow::{Context as _, Result, bail};
use reqwest::Method;
use serde::Deserialize;
use tokio::time::{Instant, sleep};

use super::{
    check::{find_secrets, is_suspicious},
    database::Database,
    faults::{FaultTargets, RECOVERY_TIMEOUT},
    history::{History, Session},
    processes::{self, Process},
    queries,
    trigger_folder::TriggerFolder,
    workload::Workload,
};

/// The interval of the polls in this module.
const POLL_INTERVAL: Duration = Duration::from_millis(300);
/// The maximum time until no run is open. The backoffs between the three attempts of a person's message take up to
/// half a minute of it.
const OPEN_RUNS_TIMEOUT: Duration = Duration::from_secs(150);
/// The maximum time until the remaining agent processes are dead after no run is open.
const SURVIVORS_TIMEOUT: Duration = Duration::from_secs(15);
/// The maximum time until no file waits. A runtime looks once a minute at a file that no server could take for long, and
/// at the copy of a file whose run another worker had for long.
const FILES_TIMEOUT: Duration = Duration::from_secs(75);

#[derive(Deserialize)]
struct NextInstant {
    next: i64,
}

#[derive(Debug, Deserialize)]
struct OpenRun {
    id: String,
    status: String,
    attempt: i64,
}

/// Waits until a replica answers, and until no trigger has a next instant at or before `until`.
///
/// # Errors
///
/// Returns an error if that takes longer than [`RECOVERY_TIMEOUT`].
pub(crate) async fn wait_for_recovery(
    field: &FaultTargets,
    world: &Workload,
    until: i64,
) -> Result<()> {
    let deadline = Instant::now() + RECOVERY_TIMEOUT;
    let api = &world
        .tenants
        .first()
        .context("the workload has no tenant")?
        .api;
    api.get("/whoami", RECOVERY_TIMEOUT).await?;
    loop {
        let next: Vec<NextInstant> = field.database.rows(queries::BEHIND).await?;
        let behind = next.iter().filter(|trigger| trigger.next <= until).count();
        if behind == 0 {
            return Ok(());
        }
        if Instant::now() > deadline {
            bail!("{behind} triggers are still behind, {RECOVERY_TIMEOUT:?} after the last fault");
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// Waits until the last files of other programs have fired, for at most [`FILES_TIMEOUT`]: a runtime that was away may
/// look for them late, and moves the file of a paused automation to `failed`. Then pauses all automations and waits until
/// no run is open. Returns a complaint for each run that is still open after [`OPEN_RUNS_TIMEOUT`].
pub(crate) async fn quiesce(field: &FaultTargets, world: &Workload) -> Result<Vec<String>> {
    wait_until_empty(field, TriggerFolder::foreign_files).await?;
    for tenant in &world.tenants {
        for automation in &tenant.automations {
            let path = format!("/automations/{automation}/pause");
            tenant
                .api
                .send_expecting_success(Method::POST, &path, None, None, RECOVERY_TIMEOUT)
                .await?;
        }
    }
    let deadline = Instant::now() + OPEN_RUNS_TIMEOUT;
    loop {
        let open: Vec<OpenRun> = field.database.rows(queries::OPEN).await?;
        if open.is_empty() || Instant::now() > deadline {
            let describe = |run: &OpenRun| {
                let OpenRun {
                    id,
                    status,
                    attempt,
                } = run;
                format!("{id} ({status}, attempt {attempt}) has not ended")
            };
            return Ok(open.iter().map(describe).collect());
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// Waits until no file waits in a folder, and returns the names of those that still wait after [`FILES_TIMEOUT`].
pub(crate) async fn wait_for_files(field: &FaultTargets) -> Result<Vec<String>> {
    wait_until_empty(field, TriggerFolder::waiting_files).await
}

/// Waits until no folder has a file that `files` lists, and returns the names of those that are left after
/// [`FILES_TIMEOUT`].
async fn wait_until_empty(
    field: &FaultTargets,
    files: impl Fn(&TriggerFolder) -> Result<Vec<String>>,
) -> Result<Vec<String>> {
    let deadline = Instant::now() + FILES_TIMEOUT;
    loop {
        let mut waiting = Vec::new();
        for instance in &field.folders {
            waiting.extend(files(&instance.folder)?);
        }
        if waiting.is_empty() || Instant::now() > deadline {
            return Ok(waiting);
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// Returns the last sequence number of each session's log, by the ID of the session.
pub(crate) async fn last_seqs(field: &FaultTargets) -> Result<HashMap<String, i64>> {
    let rows: Vec<Session> = field.database.rows(queries::SESSIONS).await?;
    let ends = rows
        .into_iter()
        .map(|session| (session.id, session.last_seq));
    Ok(ends.collect())
}

/// Waits until no agent process is left. Returns the processes that are left after [`SURVIVORS_TIMEOUT`].
pub(crate) async fn wait_for_survivors(root: &Path) -> Vec<Process> {
    let deadline = Instant::now() + SURVIVORS_TIMEOUT;
    loop {
        let left = processes::find_agents(root);
        if left.is_empty() || Instant::now() > deadline {
            return left;
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// Counts the lines of a server's log, and notes the suspicious ones in `history`.
pub(crate) fn scan_log(history: &mut History, log: &Path) -> Result<()> {
    let name = log.file_name().unwrap_or_default().to_string_lossy();
    for line in fs::read_to_string(log)?.lines() {
        history.log_lines += 1;
        if is_suspicious(line) {
            history.suspicious_lines.push(format!("{name}: {line}"));
        }
    }
    Ok(())
}

/// Searches the database, all logs and all files of the test for secrets, and notes each leak in `history`. `secrets`
/// has pairs of a description and the secret.
pub(crate) async fn search_secrets(
    history: &mut History,
    root: &Path,
    database: &Database,
    secrets: &[(&str, &str)],
) -> Result<()> {
    let mut places = database.texts().await?;
    // Walk through the logs of the servers, the recordings of the readers, the prompt logs of the agents and the
    // folders of the replicas. Skip the data of PostgreSQL, because the dump covers it, and the files named `token`,
    // because the first server stores the first token there on purpose.
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                if path != root.join("postgres") {
                    folders.push(path);
                }
            } else if path.file_name().is_some_and(|name| name != "token")
                && let Ok(content) = fs::read_to_string(&path)
            {
                places.push((path.display().to_string(), content));
            }
        }
    }
    for (place, content) in &places {
        if !content.is_empty() {
            history.secret_searches += secrets.len();
            history.leaks.extend(find_secrets(place, content, secrets));
        }
    }
    Ok(())
}
