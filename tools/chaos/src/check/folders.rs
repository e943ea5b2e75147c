//! Instances in folders: the runtime takes each run that is placed there, and nobody else does. A turn is repeated only as
//! the policies say, by the agents' own logs, and the file of another program fires once.

use std::collections::{BTreeMap, HashMap};

use super::{
    super::{
        folder_history::FolderHistory,
        history::{History, PromptLogKind, Run},
    },
    run_ends::policies_of,
    verdict::Check,
};

/// Checks the runs and the files of all instances in folders.
pub(super) fn check(history: &History, folders: &FolderHistory) -> Check {
    let mut check = Check::new(
        "folders",
        "each run in a folder is taken there once, or again as its policies say, and no file is left",
    );
    for file in &folders.waiting_files {
        check.add_violation(format!("{file} is still in its folder"));
    }
    check_places(&mut check, history, folders);
    check_prompts(&mut check, history, folders);
    check_foreign_files(&mut check, history, folders);
    check
}

/// `true` if a run belongs to an instance in a folder.
fn is_placed(run: &Run, folders: &FolderHistory) -> bool {
    let instance = run.instance.as_ref();
    instance.is_some_and(|instance| folders.instances.contains(instance))
}

/// Returns the process ID in the name of a worker, `<hostname>-<pid>-<random8>`.
fn worker_pid(worker: &str) -> Option<u32> {
    worker.rsplit('-').nth(1)?.parse().ok()
}

/// Checks that runtimes have taken the turns of their instances and no others, and that the runs of placed automations
/// belong to these instances.
fn check_places(check: &mut Check, history: &History, folders: &FolderHistory) {
    let places: HashMap<&str, &str> = history
        .automations
        .iter()
        .filter_map(|automation| Some((automation.id.as_str(), automation.placed_on.as_deref()?)))
        .collect();
    let (mut placed, mut on_servers) = (0, 0);
    for run in history.runs.iter().filter(|run| run.started_at.is_some()) {
        let is_placed = is_placed(run, folders);
        let worker = run.worker.as_deref().unwrap_or("no worker");
        let takers = if is_placed {
            &folders.runtime_pids
        } else {
            &folders.server_pids
        };
        if worker_pid(worker).is_none_or(|pid| !takers.contains(&pid)) {
            check.add_violation(format!(
                "{}: {worker} has taken its turn on the instance {}",
                run.format_attempt(),
                run.instance.as_deref().unwrap_or("none"),
            ));
        }
        let automation = run.automation.as_deref();
        let place = automation.and_then(|automation| places.get(automation).copied());
        if place.is_some() && place != run.instance.as_deref() {
            check.add_violation(format!(
                "{}: its automation is placed on another instance",
                run.format_attempt()
            ));
        }
        *(if is_placed {
            &mut placed
        } else {
            &mut on_servers
        }) += 1;
    }
    check.record_inspected("turns in folders", placed);
    check.record_inspected("turns on servers", on_servers);
}

/// Checks the prompts of the runs in folders: each run has at most one, a successful run has one, and a prompt follows
/// another one of the same input only if that attempt was lost or failed.
fn check_prompts(check: &mut Check, history: &History, folders: &FolderHistory) {
    let mut prompts: HashMap<&str, Vec<&str>> = HashMap::new();
    for entry in &history.prompt_log {
        if let (PromptLogKind::Prompted, Some(run)) = (&entry.kind, &entry.run) {
            prompts.entry(run).or_default().push(&entry.text);
        }
    }
    let mut inputs: BTreeMap<&str, Vec<&Run>> = BTreeMap::new();
    for run in history.runs.iter().filter(|run| is_placed(run, folders)) {
        inputs.entry(&run.input).or_default().push(run);
    }
    let mut inspected = 0;
    for attempts in inputs.values_mut() {
        attempts.sort_by_key(|run| run.attempt);
        // The last attempt with a prompt, and the prompt.
        let mut earlier: Option<(&Run, &str)> = None;
        for run in attempts.iter().copied() {
            let texts = prompts.get(run.id.as_str()).map_or(&[][..], Vec::as_slice);
            inspected += texts.len();
            let expected = usize::from(run.status == "succeeded");
            if texts.len() > 1 || texts.len() < expected {
                check.add_violation(format!(
                    "{}: its agent received {} prompts",
                    run.format_attempt(),
                    texts.len()
                ));
            }
            let Some(text) = texts.first().copied() else {
                continue;
            };
            if let Some((before, unchanged)) = earlier.replace((run, text)) {
                check_repetition(check, history, before, run, unchanged == text);
            }
        }
    }
    check.record_inspected("prompts in folders", inspected);
}

/// Checks that a prompt may follow the one of an earlier attempt at the same input.
fn check_repetition(
    check: &mut Check,
    history: &History,
    before: &Run,
    run: &Run,
    is_unchanged: bool,
) {
    let fails = policies_of(history, before)["on_crash"] == "fail";
    match before.status.as_str() {
        "stalled" if fails => check.add_violation(format!(
            "{}: it follows {}, whose policy is `on_crash: fail`",
            run.format_attempt(),
            before.format_attempt()
        )),
        "stalled" if is_unchanged => check.add_violation(format!(
            "{}: its prompt does not name {}, which had the same one",
            run.format_attempt(),
            before.format_attempt()
        )),
        // A failed attempt has its answer in the session already.
        "failed" | "stalled" => {}
        _ => check.add_violation(format!(
            "{}: it follows {}",
            run.format_attempt(),
            before.format_attempt()
        )),
    }
}

/// Checks that each file of another program has fired one input, or was rejected if it is no trigger.
fn check_foreign_files(check: &mut Check, history: &History, folders: &FolderHistory) {
    let runs = history.runs_by_id();
    let (mut fired, mut broken) = (0, 0);
    for file in &folders.foreign_files {
        let found = folders
            .payloads
            .iter()
            .filter(|payload| payload.payload.contains(&file.ticket));
        let inputs: Vec<_> = found
            .map(|payload| runs.get(payload.run.as_str()).map(|run| &run.input))
            .collect();
        if inputs.len() != usize::from(!file.is_broken) {
            check.add_violation(format!("{} has fired {} runs", file.name, inputs.len()));
        }
        let others = history
            .prompt_log
            .iter()
            .filter(|entry| entry.text.contains(&file.ticket))
            .filter_map(|entry| runs.get(entry.run.as_deref()?))
            .filter(|run| !inputs.contains(&Some(&run.input)));
        for run in others {
            check.add_violation(format!("{} reached {}", file.name, run.format_attempt()));
        }
        let reason = format!("{}.reason", file.name);
        let reason = folders.rejected.get(&reason).map(|text| text.trim_end());
        let of_file = |name: &&String| name.starts_with(&file.name);
        let rejected = folders.rejected.keys().filter(of_file).count();
        if rejected != 2 * usize::from(file.is_broken) || file.is_broken != reason.is_some() {
            let reason = reason.unwrap_or("none");
            check.add_violation(format!(
                "{} is {rejected} times in `failed`, with the reason: {reason}",
                file.name
            ));
        }
        *(if file.is_broken {
            &mut broken
        } else {
            &mut fired
        }) += 1;
    }
    check.record_inspected("files that fire", fired);
    check.record_inspected("files that are rejected", broken);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        super::super::{
            folder_history::{ForeignFile, Payload},
            history::{Automation, PromptLogEntry},
        },
        *,
    };

    /// A change that violates the invariant.
    type Mutation = fn(&mut History, &mut FolderHistory);

    fn run(number: u32, attempt: i64, status: &str, instance: &str, pid: u32) -> Run {
        Run {
            id: format!("run_{number}"),
            input: "input".into(),
            attempt,
            status: status.into(),
            automation: Some("aut".into()),
            instance: Some(instance.into()),
            worker: Some(format!("my-host-{pid}-00000001")),
            started_at: Some(1),
            ..Run::default()
        }
    }

    fn prompt(number: u32, text: &str) -> PromptLogEntry {
        PromptLogEntry {
            run: Some(format!("run_{number}")),
            kind: PromptLogKind::Prompted,
            text: text.into(),
            ..PromptLogEntry::default()
        }
    }

    /// Returns a lost attempt in a folder, its repetition, and a run on a server.
    fn history() -> (History, FolderHistory) {
        let other = Run {
            input: "other".into(),
            automation: None,
            ..run(3, 1, "succeeded", "host", 8)
        };
        let history = History {
            runs: vec![
                run(1, 1, "stalled", "folder", 7),
                run(2, 2, "succeeded", "folder", 7),
                other,
            ],
            automations: vec![Automation {
                id: "aut".into(),
                placed_on: Some("folder".into()),
                policies: json!({}),
                ..Automation::default()
            }],
            prompt_log: vec![
                prompt(1, "Do it with ticket-1."),
                prompt(2, "Run run_1 was lost. Do it with ticket-1."),
            ],
            ..History::default()
        };
        let file = |name: &str, ticket: &str, is_broken| ForeignFile {
            name: name.into(),
            ticket: ticket.into(),
            is_broken,
        };
        let folders = FolderHistory {
            instances: ["folder".to_owned()].into(),
            runtime_pids: [7, 8].into(),
            // The system has given the number of a runtime that has ended to a server.
            server_pids: [8, 9].into(),
            foreign_files: vec![
                file("a.json", "ticket-1", false),
                file("b.json", "ticket-2", true),
            ],
            payloads: vec![Payload {
                run: "run_1".into(),
                payload: "ticket-1".into(),
            }],
            rejected: ["b.json", "b.json.reason"]
                .map(|name| (name.to_owned(), "{}".to_owned()))
                .into(),
            waiting_files: Vec::new(),
        };
        (history, folders)
    }

    #[test]
    fn folder_check_accepts_valid_history() {
        let (history, folders) = history();
        let found = check(&history, &folders);
        assert!(found.holds(), "{found:?}");
    }

    #[test]
    fn folder_check_reports_each_violation() {
        let spoils: [(&str, Mutation); 14] = [
            ("is still in its folder", |_, folders| {
                folders.waiting_files.push("a.json".into());
            }),
            ("my-host-9-00000001 has taken its turn", |history, _| {
                history.runs[1].worker = Some("my-host-9-00000001".into());
            }),
            ("my-host-7-00000001 has taken its turn", |history, _| {
                history.runs[2].worker = Some("my-host-7-00000001".into());
            }),
            ("placed on another instance", |history, _| {
                history.automations[0].placed_on = Some("third".into());
            }),
            ("received 2 prompts", |history, _| {
                history.prompt_log.push(prompt(2, "Again."));
            }),
            ("received 0 prompts", |history, _| {
                history.prompt_log.pop();
            }),
            ("whose policy is `on_crash: fail`", |history, _| {
                history.automations[0].policies = json!({ "on_crash": "fail" });
            }),
            ("does not name run_1", |history, _| {
                history.prompt_log[1].text = history.prompt_log[0].text.clone();
            }),
            ("it follows run_1 (succeeded", |history, _| {
                history.runs[0].status = "succeeded".into();
            }),
            ("a.json has fired 0 runs", |_, folders| {
                folders.payloads.clear();
            }),
            ("a.json has fired 2 runs", |_, folders| {
                let again = folders.payloads[0].clone();
                folders.payloads.push(again);
            }),
            ("a.json reached run_3", |history, _| {
                history.prompt_log.push(prompt(3, "ticket-1"));
            }),
            ("b.json is 0 times in `failed`", |_, folders| {
                folders.rejected.clear();
            }),
            (
                "a.json is 2 times in `failed`, with the reason: the automation is paused",
                |_, folders| {
                    let files = [
                        ("a.json", "{}"),
                        ("a.json.reason", "the automation is paused\n"),
                    ];
                    let files = files.map(|(name, content)| (name.to_owned(), content.to_owned()));
                    folders.rejected.extend(files);
                },
            ),
        ];
        for (expected, spoil) in spoils {
            let (mut history, mut folders) = history();
            spoil(&mut history, &mut folders);
            let found = check(&history, &folders).violations.join("\n");
            assert!(found.contains(expected), "{expected}: {found}");
        }
    }

    #[test]
    fn folder_check_that_inspected_nothing_fails() {
        let found = check(&History::default(), &FolderHistory::default());
        assert!(!found.holds());
    }
}
