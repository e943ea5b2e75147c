//! Checks instances, workers and automations by the rows of the database.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
    time::Duration,
};

use config::Config;
use model::{
    AgentId, Clock, InstanceId, agent::Agent, automation::AutomationState, entity::Automation,
};
use server::{DataFolder, OsEntropy};
use service::{clean, excerpt};
use store::{CorruptAutomation, InstanceServer, InstanceStatus, RunFilter, Scope, Store};

use crate::{
    database::OpenedDatabase,
    finding::Finding,
    formatting::{format_count, format_duration, format_failure},
    server_status::ServerStatus,
};

/// The tolerance by which the newest run may be later than the present, because the clocks of several machines differ
/// a little.
const CLOCK_TOLERANCE: Duration = Duration::from_mins(1);
/// The maximum number of characters of a text in a finding.
const MAX_EXCERPT_CHARS: usize = 120;

/// The rows that later checks need, and the findings about them.
pub(crate) struct StoredState {
    /// The enabled automations.
    pub(crate) enabled_automations: Vec<Automation>,
    pub(crate) agents: Vec<Agent>,
    /// `true` if other instances share the database.
    pub(crate) has_other_instances: bool,
    findings: Vec<Finding>,
}

impl StoredState {
    /// Returns the agents that enabled automations use.
    pub(crate) fn agents_in_use(&self) -> Vec<&Agent> {
        let used: BTreeSet<AgentId> = self
            .enabled_automations
            .iter()
            .map(|it| it.agent_id)
            .collect();
        let agents = self.agents.iter();
        agents.filter(|it| used.contains(&it.id)).collect()
    }
}

/// Moves the findings of `looked` into `findings` and returns the rows. Turns an error of the store into a finding
/// and returns `None`.
pub(crate) fn collect_findings(
    looked: Result<StoredState, store::Error>,
    findings: &mut Vec<Finding>,
) -> Option<StoredState> {
    match looked {
        Ok(mut standing) => {
            findings.append(&mut standing.findings);
            Some(standing)
        }
        Err(error) => {
            let remedy = error
                .hint()
                .unwrap_or("keep a copy of it, then restore a backup");
            let found = format_failure(&error);
            findings.push(Finding::problem("database", found, remedy));
            None
        }
    }
}

/// Reads the instances, workers and automations, and checks them.
pub(crate) async fn check_stored_state(
    opened: &OpenedDatabase,
    config: &Config,
    folder: Option<&DataFolder>,
    served: &ServerStatus,
    clock: &dyn Clock,
) -> Result<StoredState, store::Error> {
    let sessions = folder.map(DataFolder::sessions_path).unwrap_or_default();
    let store = Store::new(opened.database.clone(), Arc::new(OsEntropy), sessions);
    let mut findings = Vec::new();
    findings.extend(check_newest_run(&store, clock).await?);
    let shared = check_instances(&store, folder, clock, &mut findings).await?;
    findings.push(check_workers(&store, config, folder, served, clock).await?);
    let found = store.automations(Scope::System).await?;
    findings.extend(found.corrupt.iter().map(unreadable_finding));
    let automations = found.readable;
    findings.extend(automations.iter().filter_map(too_new_finding));
    findings.extend(automations.iter().filter_map(attention_finding));
    let all = automations.len();
    let enabled: Vec<_> = automations
        .into_iter()
        .filter(|it| it.state == AutomationState::Enabled)
        .collect();
    let told = format_count(all, "automation", "automations");
    findings.push(Finding::ok(
        "automations",
        format!("{told}, {} of them can fire", enabled.len()),
    ));
    findings.extend(enabled.iter().filter_map(missing_directory_finding));
    Ok(StoredState {
        agents: store.agents(Scope::System).await?,
        enabled_automations: enabled,
        has_other_instances: shared,
        findings,
    })
}

/// Returns a warning if the automation needs a later version of Matins. This version neither creates nor takes its
/// runs.
fn too_new_finding(automation: &Automation) -> Option<Finding> {
    let needed = automation.needs_format;
    (needed > store::DOCUMENT_FORMAT).then(|| {
        let found = format!(
            "{} ({}) needs document format {needed}, and this program honours formats up to {}",
            clean(&automation.name),
            automation.id,
            store::DOCUMENT_FORMAT
        );
        let remedy = "use a server of a later version; its policy for catching up decides about the instants between";
        Finding::warning("automations", found, remedy)
    })
}

/// Returns the problem that an automation is corrupt. A corrupt automation creates no runs.
fn unreadable_finding(automation: &CorruptAutomation) -> Finding {
    let CorruptAutomation { id, name, error } = automation;
    let name = clean(name);
    Finding::problem(
        "automations",
        format!("{name} ({id}) cannot be read: {}", error.chain()),
        "put its row right in the database, or restore a copy",
    )
}

/// Returns a problem if the newest run was created later than the present, which shows that the clock was set back.
async fn check_newest_run(
    store: &Store,
    clock: &dyn Clock,
) -> Result<Option<Finding>, store::Error> {
    let newest = store.runs(Scope::System, RunFilter::default(), 1).await?;
    let Some(run) = newest.first() else {
        return Ok(None);
    };
    let now = clock.now();
    let ahead = run.created_at.since(now);
    Ok((ahead > CLOCK_TOLERANCE).then(|| {
        let found = format!(
            "it shows {now}, {} before the newest run was made",
            format_duration(ahead)
        );
        let remedy = "set it, by NTP for example: what is due waits until it has caught up";
        Finding::problem("clock", found, remedy)
    }))
}

/// Checks the queued runs of each instance and adds findings. Returns `true` if there are several instances.
async fn check_instances(
    store: &Store,
    folder: Option<&DataFolder>,
    clock: &dyn Clock,
    findings: &mut Vec<Finding>,
) -> Result<bool, store::Error> {
    const CHECK: &str = "instances";
    let own = folder.and_then(|folder| folder.existing_instance_id().ok().flatten());
    let now = clock.now();
    // 1. Sum up the rows of each instance.
    let mut all: BTreeMap<InstanceId, InstanceStatus> = BTreeMap::new();
    // Each tenant that uses an instance has a row of its own for it.
    for instance in store.instances(Scope::System).await? {
        let InstanceStatus {
            queued_runs: waiting,
            unsupported_automations: too_new,
            ..
        } = instance;
        let known = all.entry(instance.id).or_insert(InstanceStatus {
            queued_runs: 0,
            unsupported_automations: 0,
            ..instance
        });
        known.queued_runs += waiting;
        known.unsupported_automations += too_new;
    }
    // 2. Check each instance: the version of its server or, if it has none, its queued runs.
    let (mut online, mut versions, mut waited_for) = (0, BTreeSet::new(), 0);
    for (id, instance) in &all {
        let server = instance.server.as_ref();
        if let Some(server) = server.filter(|server| server.is_online(now)) {
            online += 1;
            versions.insert(server.version.clone());
            findings.extend(outdated_server_finding(instance, server));
            continue;
        }
        // The check of the server reports a missing server of this very instance.
        if instance.queued_runs == 0 || Some(*id) == own {
            continue;
        }
        waited_for += 1;
        let seen = instance.last_seen_at.map_or_else(
            || "never seen".to_owned(),
            |at| format!("used {} ago", format_duration(now.since(at))),
        );
        let runs = usize::try_from(instance.queued_runs).unwrap_or_default();
        let found = format!(
            "{} for {}, where their memory lies ({seen}), and nobody serves it",
            if runs == 1 {
                "1 run waits".to_owned()
            } else {
                format!("{runs} runs wait")
            },
            excerpt(&instance.name, MAX_EXCERPT_CHARS)
        );
        let remedy =
            "start matins serve there; matins instance remove gives it up where its folder is lost";
        findings.push(Finding::warning(CHECK, found, remedy));
    }
    // 3. Compare the versions.
    let several = all.len() > 1;
    if versions.len() > 1 {
        let versions: Vec<_> = versions.into_iter().collect();
        let found = format!("servers of several versions run: {}", versions.join(", "));
        findings.push(Finding::warning(
            CHECK,
            found,
            "bring them all to one version",
        ));
    } else if waited_for == 0 {
        let found = format!(
            "{}, {online} served; nothing waits for one that nobody serves",
            format_count(all.len(), "instance", "instances")
        );
        findings.push(Finding::ok(CHECK, found));
    }
    Ok(several)
}

/// Returns a warning if some automations need a later version than that of the server. It neither creates nor takes
/// their runs.
fn outdated_server_finding(instance: &InstanceStatus, server: &InstanceServer) -> Option<Finding> {
    let automations = usize::try_from(instance.unsupported_automations).unwrap_or_default();
    (automations > 0).then(|| {
        let found = format!(
            "the server of {} (version {}) honours document formats up to {}, and {} a later one",
            excerpt(&instance.name, MAX_EXCERPT_CHARS),
            excerpt(&server.version, MAX_EXCERPT_CHARS),
            server.format,
            if automations == 1 {
                "1 automation needs".to_owned()
            } else {
                format!("{automations} automations need")
            }
        );
        let remedy = "bring the server to the version that wrote them; another server may run them until then";
        Finding::warning("instances", found, remedy)
    })
}

/// Checks for runs whose worker is lost because its process is dead or its heartbeat is stale.
async fn check_workers(
    store: &Store,
    config: &Config,
    folder: Option<&DataFolder>,
    served: &ServerStatus,
    clock: &dyn Clock,
) -> Result<Finding, store::Error> {
    const CHECK: &str = "workers";
    let remedy = if *served == ServerStatus::Absent {
        "start matins serve: it takes up what lost workers have left"
    } else {
        "look at the server's log: it should have taken up what they have left"
    };
    let mut taken = 0;
    let instance = |it: &DataFolder| it.existing_instance_id().ok().flatten();
    // A lock file shows at once that a process of this instance is dead.
    if let Some((own, there)) = folder.and_then(|it| Some((instance(it)?, it))) {
        let runs = store.runs_executing_on(own).await?;
        taken = runs.len();
        let lost: Vec<_> = runs
            .iter()
            .filter(|(_, worker)| daemon::is_worker_dead(&there.workers_path(), worker))
            .map(|(run, _)| run.to_string())
            .collect();
        if !lost.is_empty() {
            let found = format!("the process is gone that took {}", lost.join(", "));
            return Ok(Finding::warning(CHECK, found, remedy));
        }
    }
    // The workers of other machines show themselves by their heartbeats alone.
    if let Some(oldest) = store.oldest_heartbeat().await? {
        let age = clock.now().since(oldest);
        if age > config.heartbeat_stale.value {
            let found = format!("a turn has shown no life for {}", format_duration(age));
            return Ok(Finding::warning(CHECK, found, remedy));
        }
    }
    let told = format_count(taken, "turn is", "turns are");
    Ok(Finding::ok(
        CHECK,
        format!("{told} taken here, no worker is lost"),
    ))
}

/// Returns a warning if the automation needs attention.
fn attention_finding(automation: &Automation) -> Option<Finding> {
    let text = automation.attention.as_deref()?;
    let name = excerpt(&automation.name, MAX_EXCERPT_CHARS);
    let found = format!(
        "{name} needs attention: {}",
        excerpt(text, MAX_EXCERPT_CHARS)
    );
    let remedy = format!("matins automation show {name:?}");
    Some(Finding::warning("automations", found, remedy))
}

/// Returns a problem if the working directory of the automation does not exist on this machine.
fn missing_directory_finding(automation: &Automation) -> Option<Finding> {
    let folder = automation.cwd.as_deref()?;
    (!Path::new(folder).is_dir()).then(|| {
        let name = excerpt(&automation.name, MAX_EXCERPT_CHARS);
        let found = format!("the working directory of {name} is not there: {folder}");
        Finding::problem("automations", found, "make it; each turn there fails")
    })
}
