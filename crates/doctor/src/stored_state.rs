//! Checks instances, workers and automations by the rows of the database.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
    time::Duration,
};

use config::Config;
use model::{
    AgentId, Clock, InstanceId,
    agent::Agent,
    automation::AutomationState,
    entity::{Automation, Tenant},
};
use server::{DataFolder, OsEntropy};
use service::{clean, excerpt};
use store::{CorruptAutomation, InstanceServer, InstanceStatus, Page, RunFilter, Scope, Store};

use crate::{
    budgets::unknown_currency_findings,
    database::OpenedDatabase,
    finding::Finding,
    formatting::{format_count, format_duration, with_sources},
    names,
    permission_rules::allow_patterns_finding,
    server_status::ServerStatus,
    zone_rules::different_editions_finding,
};

/// The tolerance by which the newest run may be later than the present, because the clocks of several machines differ
/// a little.
const CLOCK_TOLERANCE: Duration = Duration::from_mins(1);
/// The maximum number of characters of a text in a finding.
const MAX_EXCERPT_CHARS: usize = 120;

/// The number of tenants that are read at once.
const TENANTS_PER_PAGE: u32 = 500;

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

/// Moves the findings of `checked` into `findings` and returns the rows. Turns an error of the store into a finding
/// and returns `None`.
pub(crate) fn collect_findings(
    checked: Result<StoredState, store::Error>,
    findings: &mut Vec<Finding>,
) -> Option<StoredState> {
    match checked {
        Ok(mut state) => {
            findings.append(&mut state.findings);
            Some(state)
        }
        Err(error) => {
            let remedy = error
                .hint()
                .unwrap_or("keep a copy of it, then restore a backup");
            let found = with_sources(&error);
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
    server: &ServerStatus,
    clock: &dyn Clock,
) -> Result<StoredState, store::Error> {
    let sessions = folder.map(DataFolder::sessions_path).unwrap_or_default();
    let store = Store::new(opened.database.clone(), Arc::new(OsEntropy), sessions);
    let mut findings = Vec::new();
    findings.extend(check_newest_run(&store, clock).await?);
    let shared = check_instances(&store, folder, clock, &mut findings).await?;
    findings.push(check_workers(&store, config, folder, server, clock).await?);
    let found = store.automations(Scope::System).await?;
    findings.extend(found.corrupt.iter().map(unreadable_finding));
    findings.extend(names::check_names(&store, &found).await?);
    let automations = found.readable;
    findings.extend(automations.iter().filter_map(too_new_finding));
    findings.extend(automations.iter().filter_map(attention_finding));
    let agents = store.agents(Scope::System).await?;
    let tenants = all_tenants(&store).await?;
    findings.extend(unknown_currency_findings(&automations, &tenants));
    findings.extend(allow_patterns_finding(&automations, &agents));
    let all = automations.len();
    let enabled: Vec<_> = automations
        .into_iter()
        .filter(|it| it.state == AutomationState::Enabled)
        .collect();
    let count = format_count(all, "automation", "automations");
    findings.push(Finding::ok(
        "automations",
        format!("{count}, {} of them enabled", enabled.len()),
    ));
    findings.extend(enabled.iter().filter_map(missing_directory_finding));
    Ok(StoredState {
        agents,
        enabled_automations: enabled,
        has_other_instances: shared,
        findings,
    })
}

/// Returns all tenants.
async fn all_tenants(store: &Store) -> Result<Vec<Tenant>, store::Error> {
    let mut tenants: Vec<Tenant> = Vec::new();
    loop {
        let page = Page {
            limit: TENANTS_PER_PAGE,
            after: tenants.last().map(|it| it.id),
        };
        let found = store.tenants(Scope::System, page).await?;
        let is_last = found.len() < TENANTS_PER_PAGE as usize;
        tenants.extend(found);
        if is_last {
            return Ok(tenants);
        }
    }
}

/// Returns a warning if the automation needs a later version of Matins. This version neither creates nor takes its
/// runs.
fn too_new_finding(automation: &Automation) -> Option<Finding> {
    let needed = automation.needs_format;
    (needed > store::DOCUMENT_FORMAT).then(|| {
        let found = format!(
            "{} ({}) needs document format {needed}, but this program supports formats up to {}",
            clean(&automation.name),
            automation.id,
            store::DOCUMENT_FORMAT
        );
        let remedy = "use a server of a later version; its catch-up policy decides on the instants that are missed until then";
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
        "correct its row in the database, or restore a backup",
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
            "it shows {now}, {} before the newest run was created",
            format_duration(ahead)
        );
        let remedy = "set it, for example by NTP: due runs wait until it has caught up";
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
            queued_runs,
            unsupported_automations,
            ..
        } = instance;
        let sum = all.entry(instance.id).or_insert(InstanceStatus {
            queued_runs: 0,
            unsupported_automations: 0,
            ..instance
        });
        sum.queued_runs += queued_runs;
        sum.unsupported_automations += unsupported_automations;
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
            "{} for {} ({seen}), which has their memory but no server",
            if runs == 1 {
                "1 run waits".to_owned()
            } else {
                format!("{runs} runs wait")
            },
            excerpt(&instance.name, MAX_EXCERPT_CHARS)
        );
        let remedy =
            "start `matins serve` there, or use `matins instance remove` if its folder is lost";
        findings.push(Finding::warning(CHECK, found, remedy));
    }
    // 3. Compare the versions and the zone rules.
    let servers = all.values().filter_map(|instance| {
        let server = instance.server.as_ref();
        let server = server.filter(|server| server.is_online(now))?;
        Some((instance.name.as_str(), server.zone_rules.as_deref()))
    });
    findings.extend(different_editions_finding(&servers.collect::<Vec<_>>()));
    let several = all.len() > 1;
    if versions.len() > 1 {
        let versions: Vec<_> = versions.into_iter().collect();
        let found = format!("the servers run several versions: {}", versions.join(", "));
        findings.push(Finding::warning(
            CHECK,
            found,
            "upgrade all of them to one version",
        ));
    } else if waited_for == 0 {
        let found = format!(
            "{}, {online} online; no run waits for an instance without a server",
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
            "the server of {} (version {}) supports document formats up to {}, but {} a later one",
            excerpt(&instance.name, MAX_EXCERPT_CHARS),
            excerpt(&server.version, MAX_EXCERPT_CHARS),
            server.format,
            if automations == 1 {
                "1 automation needs".to_owned()
            } else {
                format!("{automations} automations need")
            }
        );
        let remedy = "upgrade the server to the version that wrote them; another server may run them until then";
        Finding::warning("instances", found, remedy)
    })
}

/// Checks for runs whose worker is lost because its process is dead or its heartbeat is stale.
async fn check_workers(
    store: &Store,
    config: &Config,
    folder: Option<&DataFolder>,
    server: &ServerStatus,
    clock: &dyn Clock,
) -> Result<Finding, store::Error> {
    const CHECK: &str = "workers";
    let remedy = if *server == ServerStatus::Absent {
        "start `matins serve`, which retries the runs of lost workers"
    } else {
        "check the log of the server, which should have retried their runs"
    };
    let mut running = 0;
    let instance = |it: &DataFolder| it.existing_instance_id().ok().flatten();
    // A lock file shows at once that a process of this instance is dead.
    if let Some((own, folder)) = folder.and_then(|it| Some((instance(it)?, it))) {
        let runs = store.runs_executing_on(own).await?;
        running = runs.len();
        let lost: Vec<_> = runs
            .iter()
            .filter(|(_, worker)| agent::is_worker_dead(&folder.workers_path(), worker))
            .map(|(run, _)| run.to_string())
            .collect();
        if !lost.is_empty() {
            let found = format!("the process that ran {} has died", lost.join(", "));
            return Ok(Finding::warning(CHECK, found, remedy));
        }
    }
    // The workers of other machines show themselves by their heartbeats alone.
    if let Some(oldest) = store.oldest_heartbeat().await? {
        let age = clock.now().since(oldest);
        if age > config.heartbeat_stale.value {
            let found = format!("a turn has sent no heartbeat for {}", format_duration(age));
            return Ok(Finding::warning(CHECK, found, remedy));
        }
    }
    let count = format_count(running, "turn is", "turns are");
    Ok(Finding::ok(
        CHECK,
        format!("{count} running here; no worker is lost"),
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
    let remedy = format!("run `matins automation show {name:?}`");
    Some(Finding::warning("automations", found, remedy))
}

/// Returns a problem if the working directory of the automation does not exist on this machine.
fn missing_directory_finding(automation: &Automation) -> Option<Finding> {
    let folder = automation.cwd.as_deref()?;
    (!Path::new(folder).is_dir()).then(|| {
        let name = excerpt(&automation.name, MAX_EXCERPT_CHARS);
        let found = format!("the working directory of {name} does not exist: {folder}");
        Finding::problem(
            "automations",
            found,
            "create it: until then each turn fails",
        )
    })
}
