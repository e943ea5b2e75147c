//! The check of an instance: the folder and its rights, the clocks, and the runtime.

use std::time::Duration;

use api_types::{Instance, InstanceCheck, InstanceFinding, InstanceKind, InstanceState};
use model::Clock;
use tokio::time::timeout;
use trigger_folder::DirectoryDelivery;

use crate::{Error, Service, boxed};

/// The time limit for the answer of a folder.
const FOLDER_TIMEOUT: Duration = Duration::from_secs(30);

/// The difference of two clocks up to which they agree. The times of files on network volumes are exact to about a second.
const MAX_CLOCK_DIFFERENCE: Duration = Duration::from_secs(5);

impl Service {
    /// Checks an instance, by its name or its ID: that this server can write into its folder, that the clocks agree, and
    /// that a runtime watches the folder. A host has no folder, so only its server is checked.
    #[boxed]
    pub async fn check_instance(&self, given: &str) -> Result<InstanceCheck, Error> {
        let instance = self.instance(given).await?;
        let mut findings = Vec::new();
        if let Some(folder) = &instance.folder {
            findings.extend(check_folder(folder, self.clock.as_ref()).await);
        }
        findings.push(check_server(&instance));
        findings.extend(check_version(&instance));
        if instance.kind == InstanceKind::Directory {
            findings.push(count_files(&instance));
        }
        Ok(InstanceCheck { instance, findings })
    }
}

fn finding(
    check: &str,
    ok: bool,
    message: impl Into<String>,
    hint: Option<String>,
) -> InstanceFinding {
    InstanceFinding {
        check: check.to_owned(),
        ok,
        message: message.into(),
        hint,
    }
}

/// Checks that a file can be written into a folder, and compares the clock of its file system.
async fn check_folder(folder: &str, clock: &dyn Clock) -> Vec<InstanceFinding> {
    let delivery = DirectoryDelivery::new(folder);
    let probed = match timeout(FOLDER_TIMEOUT, delivery.probe()).await {
        Ok(Ok(probed)) => probed,
        Ok(Err(error)) => {
            let message = error.message();
            let hint = "create the folder on the machine of this server or mount it there, owned by the user of this \
                        server and writable by that user alone";
            return vec![finding("folder", false, message, Some(hint.to_owned()))];
        }
        Err(_) => {
            let seconds = FOLDER_TIMEOUT.as_secs();
            let message = format!("`{folder}` did not answer within {seconds} s");
            let hint = "check the network volume that holds it";
            return vec![finding("folder", false, message, Some(hint.to_owned()))];
        }
    };
    let message = format!("this server can write into `{folder}`");
    let (folder_at, now) = (probed.written_at, clock.now());
    // `since` is zero for a later instant, so that one of the two is the difference.
    let (ahead, behind) = (folder_at.since(now), now.since(folder_at));
    let difference = ahead.max(behind);
    let agree = difference <= MAX_CLOCK_DIFFERENCE;
    let clock = if agree {
        let message = "the clocks of this server and of the folder agree";
        finding("clock", true, message, None)
    } else {
        let relation = if behind > ahead { "behind" } else { "ahead of" };
        let seconds = difference.as_secs();
        let message = format!("the clock of the folder is {seconds} s {relation} this server's");
        let hint = "synchronize the clocks of both machines, for example with chrony";
        finding("clock", false, message, Some(hint.to_owned()))
    };
    vec![finding("folder", true, message, None), clock]
}

/// Checks that a server or a runtime serves an instance.
fn check_server(instance: &Instance) -> InstanceFinding {
    let program = match instance.kind {
        InstanceKind::Directory => "runtime",
        InstanceKind::Host | InstanceKind::Unknown => "server",
    };
    match (&instance.worker, instance.state) {
        (Some(worker), InstanceState::Online) => {
            finding(program, true, format!("{worker} takes its turns"), None)
        }
        (worker, _) => {
            let message = match worker {
                Some(worker) => format!("no {program} is online; the last one was {worker}"),
                None => format!("no {program} was ever online"),
            };
            let hint = match instance.kind {
                InstanceKind::Directory => {
                    let folder = instance
                        .runtime_folder
                        .as_ref()
                        .or(instance.folder.as_ref());
                    let folder = folder.map_or("FOLDER", String::as_str);
                    format!("start `matins runtime --folder {folder}` on its machine")
                }
                InstanceKind::Host | InstanceKind::Unknown => {
                    "start `matins serve` there".to_owned()
                }
            };
            finding(program, false, message, Some(hint))
        }
    }
}

/// Checks that the version of the server or runtime supports all automations.
fn check_version(instance: &Instance) -> Option<InstanceFinding> {
    let version = instance.version.as_ref()?;
    let own = env!("CARGO_PKG_VERSION");
    Some(if instance.automations_too_new > 0 {
        let count = instance.automations_too_new;
        let message = format!("version {version} is too old for {count} automations");
        let hint = format!("upgrade it to version {own}");
        finding("version", false, message, Some(hint))
    } else {
        let message = format!("version {version}; this server has {own}");
        finding("version", true, message, None)
    })
}

/// Counts the files that wait for the runtime.
fn count_files(instance: &Instance) -> InstanceFinding {
    let (delivered, waiting) = (instance.delivered_runs, instance.waiting_runs);
    let message = match (delivered, waiting - delivered) {
        (0, 0) => "no run waits".to_owned(),
        (delivered, 0) => format!("{delivered} delivered runs wait for the runtime"),
        (delivered, queued) => {
            format!(
                "{delivered} delivered runs wait for the runtime, {queued} wait for their delivery"
            )
        }
    };
    finding("files", true, message, None)
}
