//! Snapshots of every stored document, and every reader with the data of every format.

mod goal_progress;

use std::{fs, path::PathBuf};

use model::{
    agent::{AgentConfig, OfferedCapabilities, ResourceLimits, RestoreBy},
    approval::OnUnmatched,
    budget::{Budget, Money, PeriodLimits, RunLimits},
    entity::SeatSettings,
    permission::{PermissionRule, PermissionRules, Verdict},
    policy::{CatchUp, OnCrash, Overlap, Policies, Retry, RunReports},
    precheck::Precheck,
    prompt::PromptRef,
    question::QuestionBody,
    run::RunFlags,
    schedule::{QuietHours, Spec},
    tools::{AgentCron, ToolAccess},
};
use serde_json::{Map, Value, json};
use utoipa::PartialSchema;

use super::{goals::StoredGoalProgress, *};

/// A document with its schema, if it has one, an example in which each key has a value, and its reader and writer.
struct DocumentKind {
    name: &'static str,
    schema: Value,
    examples: Vec<Value>,
    /// Reads a document and rewrites it.
    rewrite: fn(&Value) -> Result<Value, BoxError>,
}

impl DocumentKind {
    fn of<D: Document + PartialSchema>(name: &'static str, examples: &[D::Domain]) -> Self {
        Self {
            schema: serde_json::to_value(D::schema()).unwrap(),
            ..Self::without_schema::<D>(name, examples)
        }
    }

    fn without_schema<D: Document>(name: &'static str, examples: &[D::Domain]) -> Self {
        let written = examples.iter().map(|example| write::<D>(example).value);
        Self {
            name,
            schema: Value::Null,
            examples: written.collect(),
            rewrite: |document| {
                let domain = D::deserialize(document)?.into_domain()?;
                Ok(rewrite_value::<D>(&domain, document)?.value)
            },
        }
    }

    fn snapshot(&self) -> Value {
        json!({ "schema": self.schema, "examples": self.examples })
    }
}

/// Returns every stored document, once for each column in which it has a schema of its own.
fn kinds() -> Vec<DocumentKind> {
    vec![
        DocumentKind::of::<StoredPolicies>("policies", &[policies()]),
        DocumentKind::of::<StoredBudget>("budget", &[budget()]),
        DocumentKind::of::<StoredSpec>("spec", &specs()),
        DocumentKind::of::<StoredPermissions>("permissions", &[permissions()]),
        DocumentKind::of::<StoredSettings>("settings", &[settings()]),
        DocumentKind::of::<StoredAgent>("agent", &[(config(), Some(offers()))]),
        DocumentKind::of::<StoredQuestionBody>("question", &[question()]),
        DocumentKind::of::<StoredFlags>("flags", &[flags()]),
        DocumentKind::of::<StoredPromptRef>("prompt_ref", &[prompt_ref()]),
        DocumentKind::of::<StoredScopes>(
            "scopes",
            &[model::access::Permission::ALL.iter().copied().collect()],
        ),
        DocumentKind::of::<StoredNotificationKinds>(
            "events",
            &[model::notification::NotificationKind::ALL.to_vec()],
        ),
        DocumentKind::without_schema::<StoredGoalProgress>(
            "goal_progress",
            &[goal_progress::example()],
        ),
    ]
}

// The examples name every field, so that a new field does not compile before it is in a snapshot.

fn policies() -> Policies {
    let windows = vec!["22:00-06:00".parse().unwrap()];
    Policies {
        overlap: Some(Overlap::Skip),
        queue_limit: 7,
        catch_up: CatchUp::All,
        catch_up_window_seconds: 3600,
        jitter_seconds: 30,
        quiet_hours: QuietHours::new(windows).unwrap(),
        timeout_seconds: 600,
        inactivity_seconds: 120,
        retry: Retry {
            attempts: 2,
            backoff_seconds: 5,
            backoff_max_seconds: 50,
        },
        on_crash: OnCrash::Fail,
        pause_after_failures: 3,
        budget: budget(),
        on_unmatched: OnUnmatched::RequestApproval,
        ask_seconds: 90,
        precheck: Some(Precheck {
            command: vec!["check".into(), "--new".into()],
            timeout_seconds: 20,
        }),
        tools: ToolAccess::Read,
        agent_cron: AgentCron::Ask,
        run_reports: RunReports::Off,
    }
}

fn question() -> QuestionBody {
    QuestionBody {
        options: vec!["red".into(), "blue".into()],
        default: Some(json!("red")),
        schema: Some(json!({ "properties": { "colour": { "type": "string" } } })),
    }
}

fn budget() -> Budget {
    let cost = |amount| Some(Money::parse(amount, "USD").unwrap());
    let period = |tokens, amount, turns| PeriodLimits {
        tokens: Some(tokens),
        cost: cost(amount),
        turns: Some(turns),
        minutes: Some(turns * 10),
    };
    Budget {
        run: RunLimits {
            tokens: Some(1000),
            cost: cost("0.25"),
        },
        day: period(5000, "2", 24),
        month: period(100_000, "20", 500),
    }
}

fn specs() -> Vec<Spec> {
    vec![
        Spec::Cron {
            expression: "0 9 * * 1-5".into(),
            zone: "Europe/Prague".into(),
        },
        Spec::Every {
            period: "10m".parse().unwrap(),
            anchor: "2026-01-01T00:00:00Z".parse().unwrap(),
            zone: "UTC".into(),
        },
        Spec::At {
            at: "2026-11-23T08:00:00Z".parse().unwrap(),
            zone: "Europe/Prague".into(),
        },
        Spec::Manual {},
        Spec::Webhook {},
    ]
}

fn permissions() -> PermissionRules {
    PermissionRules(vec![
        PermissionRule {
            tool: "execute".into(),
            title: Some("git log*".into()),
            verdict: Verdict::Allow,
        },
        PermissionRule {
            tool: "*".into(),
            title: None,
            verdict: Verdict::Deny,
        },
    ])
}

fn settings() -> SeatSettings {
    SeatSettings {
        mode: Some("plan".into()),
        values: [("model".to_owned(), "large".to_owned())].into(),
    }
}

fn config() -> AgentConfig {
    AgentConfig {
        command: vec!["agent".into(), "--acp".into()],
        env: [("LEVEL".to_owned(), "3".to_owned())].into(),
        pass_env: vec!["API_KEY".into()],
        authenticate: Some("api-key".into()),
        restore: RestoreBy::Load,
        permissions: permissions(),
        mode: Some("plan".into()),
        settings: [("model".to_owned(), "large".to_owned())].into(),
        restore_after_seconds: 2,
        start_seconds: 30,
        restore_seconds: 60,
        limits: ResourceLimits {
            memory_bytes: Some(1 << 30),
            processes: Some(64),
            cpu_seconds: Some(600),
            open_files: Some(256),
            file_bytes: Some(1 << 20),
        },
        tools: ToolAccess::Read,
        own_tools: vec!["matins: {tool}".into()],
    }
}

fn offers() -> OfferedCapabilities {
    OfferedCapabilities {
        name: Some("agent".into()),
        version: Some("1.2.3".into()),
        resume: true,
        load: true,
        list: true,
        close: true,
        delete: true,
        prompts: vec!["image".into()],
        mcp: vec!["stdio".into()],
        auth_methods: vec!["api-key".into()],
    }
}

fn flags() -> RunFlags {
    RunFlags {
        empty_answer: true,
        permissions_denied: 1,
        tool_calls: 2,
        answer_cut: true,
        precheck_unclear: true,
    }
}

fn prompt_ref() -> PromptRef {
    PromptRef {
        id: "cron.agent_turn.reminder".into(),
        version: 1,
        sha256: "ab".repeat(32),
    }
}

fn snapshot_file(format: i64, name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/stored/formats");
    folder.join(format.to_string()).join(format!("{name}.json"))
}

fn read_snapshot(format: i64, name: &str) -> Option<Value> {
    let text = fs::read_to_string(snapshot_file(format, name)).ok()?;
    Some(serde_json::from_str(&text).unwrap())
}

/// Writes the snapshot of the present format if `MATINS_UPDATE` is set. Never overwrites a snapshot, because servers
/// with that format may be in use.
fn write_missing_snapshot(kind: &DocumentKind) {
    let file = snapshot_file(DOCUMENT_FORMAT, kind.name);
    if option_env!("MATINS_UPDATE").is_some() && !file.exists() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let text = serde_json::to_string_pretty(&kind.snapshot()).unwrap();
        fs::write(&file, text + "\n").unwrap();
    }
}

#[test]
fn stored_document_change_without_new_format_is_detected() {
    for kind in kinds() {
        let file = snapshot_file(DOCUMENT_FORMAT, kind.name);
        write_missing_snapshot(&kind);
        assert_eq!(
            read_snapshot(DOCUMENT_FORMAT, kind.name),
            Some(kind.snapshot()),
            "the stored document `{}` differs from {}: raise `DOCUMENT_FORMAT`, and write the snapshot of the new \
             format with MATINS_UPDATE=1",
            kind.name,
            file.display()
        );
    }
}

#[test]
fn document_of_earlier_format_is_read_without_loss() {
    let mut read = 0;
    for kind in kinds() {
        write_missing_snapshot(&kind);
        for format in 1..=DOCUMENT_FORMAT {
            // A document that came with a later format has no snapshot of an earlier one.
            let Some(snapshot) = read_snapshot(format, kind.name) else {
                assert_ne!(format, DOCUMENT_FORMAT, "{} has no snapshot", kind.name);
                continue;
            };
            for example in snapshot["examples"].as_array().unwrap() {
                let rewritten = (kind.rewrite)(example).unwrap();
                assert_contains(&rewritten, example, kind.name);
                read += 1;
            }
        }
    }
    assert!(read >= kinds().len());
}

/// Asserts that `whole` has each key and value of `part`.
fn assert_contains(whole: &Value, part: &Value, path: &str) {
    if let (Value::Object(whole), Value::Object(part)) = (whole, part) {
        for (key, value) in part {
            let path = format!("{path}.{key}");
            let found = whole.get(key);
            assert_contains(
                found.unwrap_or_else(|| panic!("{path} is lost")),
                value,
                &path,
            );
        }
    } else {
        assert_eq!(whole, part, "{path}");
    }
}

/// Keys whose values are free-form maps, in which each key is known, or values whose only key is their kind.
const FREE_FORM_KEYS: [&str; 7] = [
    "env", "settings", "values", "schema", "occupied", "stop", "turn",
];

/// Adds keys that this program does not know to each object.
fn with_later_keys(document: &Value) -> Value {
    match document {
        Value::Object(object) => {
            let mut with: Map<String, Value> = object
                .iter()
                .map(|(key, value)| {
                    let free = FREE_FORM_KEYS.contains(&key.as_str());
                    (
                        key.clone(),
                        if free {
                            value.clone()
                        } else {
                            with_later_keys(value)
                        },
                    )
                })
                .collect();
            with.insert("later_word".into(), json!("x"));
            with.insert("later_object".into(), json!({ "a": [1, null] }));
            Value::Object(with)
        }
        Value::Array(items) => items.iter().map(with_later_keys).collect(),
        value => value.clone(),
    }
}

#[test]
fn rewrite_of_later_format_keeps_unknown_keys() {
    for kind in kinds() {
        for example in &kind.examples {
            let later = with_later_keys(example);
            let rewritten = (kind.rewrite)(&later).unwrap();
            assert_eq!(rewritten, later, "{}", kind.name);
        }
    }
}

#[test]
fn edit_keeps_unknown_keys_of_remaining_objects() {
    let before = with_later_keys(&write::<StoredPolicies>(&policies()).value);
    let mut to = policies();
    to.queue_limit = 9;
    to.retry.attempts = 9;
    to.precheck = None;
    to.budget.day = PeriodLimits::default();
    let written = rewrite_value::<StoredPolicies>(&to, &before).unwrap().value;
    assert_eq!(written["queue_limit"], 9);
    assert_eq!(written["retry"]["attempts"], 9);
    assert_eq!(written["later_word"], "x");
    assert_eq!(written["retry"]["later_word"], "x");
    assert_eq!(written["budget"]["day"]["later_word"], "x");
    assert_eq!(written["budget"]["day"]["cost"], Value::Null);
    assert_eq!(
        written["precheck"],
        Value::Null,
        "a removed object loses its unknown keys too"
    );
}

#[test]
fn edit_keeps_unknown_keys_of_remaining_rules() {
    let before = with_later_keys(&write::<StoredPermissions>(&permissions()).value);
    let mut to = permissions();
    to.0.reverse();
    to.0[1].verdict = Verdict::Deny;
    let written = rewrite_value::<StoredPermissions>(&to, &before)
        .unwrap()
        .value;
    assert_eq!(written[0]["later_word"], "x");
    assert_eq!(written[1].get("later_word"), None, "another rule");
}

#[test]
fn edit_removes_entries_of_free_form_maps() {
    let before = write::<StoredSettings>(&settings()).value;
    let to = SeatSettings {
        mode: None,
        values: [("effort".to_owned(), "high".to_owned())].into(),
    };
    let written = rewrite_value::<StoredSettings>(&to, &before).unwrap().value;
    assert_eq!(written, json!({ "values": { "effort": "high" } }));
}

#[test]
fn unknown_names_are_ignored_and_kept() {
    let events = vec![model::notification::NotificationKind::RunFailed];
    let before: StoredNotificationKinds =
        serde_json::from_value(json!(["run.failed", "goal.forgotten"])).unwrap();
    assert_eq!(
        to_json(&StoredNotificationKinds::replacing(&events, before)),
        json!(["run.failed", "goal.forgotten"])
    );
    let stored: StoredScopes = serde_json::from_value(json!(["runs:read", "later:read"])).unwrap();
    let scopes = stored.into_domain().unwrap();
    assert_eq!(scopes, [model::access::Permission::RunsRead].into());
}

#[test]
fn scope_words_of_the_first_format_and_of_the_api_are_read() {
    use model::access::Permission::{AgentsRead, AgentsWrite};
    let words = json!(["harnesses:read", "agents:write"]);
    let stored: StoredScopes = serde_json::from_value(words).unwrap();
    let scopes = stored.into_domain().unwrap();
    assert_eq!(scopes, [AgentsRead, AgentsWrite].into());
    assert_eq!(
        to_json(&StoredScopes::of(&scopes)),
        json!(["harnesses:read", "harnesses:write"])
    );
}

#[test]
fn absent_keys_have_their_defaults() {
    let policies: StoredPolicies = serde_json::from_value(json!({})).unwrap();
    assert_eq!(policies.into_domain().unwrap(), Policies::default());
    let agent: StoredAgent =
        serde_json::from_value(json!({ "config": { "command": ["a"] } })).unwrap();
    let expected = (AgentConfig::new(vec!["a".into()]), None);
    assert_eq!(agent.into_domain().unwrap(), expected);
}

#[test]
fn corrupt_stored_document_is_rejected() {
    let amount = json!({ "run": { "cost": { "amount": "-1", "currency": "USD" } } });
    let budget: StoredBudget = serde_json::from_value(amount).unwrap();
    assert!(budget.into_domain().is_err());
    assert!(serde_json::from_value::<StoredPolicies>(json!({ "overlap": "sometimes" })).is_err());
}
