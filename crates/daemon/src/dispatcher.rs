//! The dispatcher: writes the trigger files of runs into the folders of their instances.
//!
//! **Invariant:** a run becomes `delivered` only after the write of its file is confirmed. A failed write is retried after a
//! pause, and the run shows the reason. All servers share the work: each file is claimed before it is written.

use delivery::{RunTrigger, TriggerKind, TriggerName};
use futures::future::join_all;
use model::{Timestamp, limits, policy::SessionMode, run::Origin};
use store::{ClaimedTriggerFile, TriggerContent, TriggerFileWrite};
use tokio::time::timeout;
use trigger_folder::{Delivered, Delivery as _, DirectoryDelivery};

use crate::{Error, Host, boxed, loop_runner::LoopBody};

/// Writes all files that are due. Returns the number of confirmed writes.
///
/// # Errors
///
/// Returns an error of the store. A file that cannot be written is no error: its run shows the reason.
#[boxed]
pub async fn deliver_due(host: &Host) -> Result<usize, Error> {
    let mut confirmed = 0;
    // The leases are judged by the clock alone. With an unknown time, this server could take over a file that another
    // server is still writing.
    while host.time_is_known() {
        let now = host.now();
        let until = now + limits::TRIGGER_FILE_LEASE;
        let limit = limits::TRIGGER_FILES_PER_CLAIM;
        let files = host.store.claim_trigger_files(limit, until, now).await?;
        if files.is_empty() {
            break;
        }
        for delivered in join_all(files.iter().map(|file| deliver(host, file))).await {
            confirmed += usize::from(delivered?);
        }
    }
    Ok(confirmed)
}

/// Writes one file and records the result. Returns `true` if the file is in its folder.
async fn deliver(host: &Host, file: &ClaimedTriggerFile) -> Result<bool, Error> {
    let run = file.run;
    let error = match write(file).await {
        Ok(write) => {
            let recorded = host.store.record_trigger_file(file, write, host.now());
            // A fenced record means that a runtime has claimed the run already, or that another attempt has begun.
            let _ = recorded.await?;
            return Ok(true);
        }
        Err(error) => error,
    };
    tracing::warn!(%run, instance = %file.instance, %error, "cannot deliver {run}, will retry");
    let recorded = host
        .store
        .record_trigger_file_failure(file, &error, host.now());
    let _ = recorded.await?;
    Ok(false)
}

async fn write(file: &ClaimedTriggerFile) -> Result<TriggerFileWrite, String> {
    let name = TriggerName::new(file.named_at, file.run);
    let name = name.ok_or_else(|| format!("no file can be named by {}", file.named_at))?;
    let content = trigger(file).to_json().map_err(|error| error.to_string())?;
    let folder = DirectoryDelivery::new(&file.folder.path);
    let writing = folder.deliver(&name, content.as_bytes());
    match timeout(limits::TRIGGER_FILE_TIMEOUT, writing).await {
        Ok(Ok(Delivered::Written)) => Ok(TriggerFileWrite::Written),
        Ok(Ok(Delivered::AlreadyThere)) => Ok(TriggerFileWrite::AlreadyThere),
        Ok(Err(error)) => Err(error.message()),
        Err(_) => Err(format!(
            "the folder `{}` did not answer within {} s",
            file.folder.path,
            limits::TRIGGER_FILE_TIMEOUT.as_secs()
        )),
    }
}

/// Returns the content of a file.
fn trigger(file: &ClaimedTriggerFile) -> RunTrigger {
    let TriggerContent {
        automation,
        origin,
        at,
        task,
    } = file.content.clone();
    let kind = match origin {
        Origin::Occurrence => TriggerKind::Cron,
        Origin::Task => TriggerKind::Task,
        Origin::Person | Origin::Message => TriggerKind::Message,
    };
    let to_session = |mode| RunTrigger::new(file.run, kind, at, task, mode);
    match automation {
        Some((id, name, mode)) => to_session(mode).of_automation(id, name),
        None => to_session(SessionMode::Bound),
    }
}

/// The dispatcher loop of one server.
pub(crate) struct Dispatcher {
    pub(crate) host: Host,
}

impl LoopBody for Dispatcher {
    const NAME: &'static str = "dispatcher";

    async fn tick(&mut self, now: Timestamp) -> Result<Option<Timestamp>, Error> {
        if !self.host.time_is_known() {
            return Ok(None);
        }
        deliver_due(&self.host).await?;
        let next = self.host.store.next_trigger_file_at().await?;
        // A file that is still due cannot be claimed, for example because its row is corrupt: do not spin.
        Ok(next.map(|next| next.max(now + limits::TRIGGER_FILE_BACKOFF)))
    }
}
