//! Row-level security alone: the rows that each statement finds without its condition on the tenant.
//!
//! The first protection is `tenant_id = $n` in the statement's text; the second is row-level security.

use std::{collections::BTreeSet, fs};

use model::Timestamp;
use store::{
    Scope,
    database::{Param, with_numbered_params},
    params,
};
use uuid::Uuid;

use crate::{
    fixtures::{TestStore, Values, World, id},
    statements::{files, store_folder},
};

/// Returns the text of a read statement without the condition on its tenant.
fn without_tenant_condition(text: &str, folder: &str) -> Option<String> {
    let text = with_numbered_params(text);
    let code = text.lines().filter(|line| !line.starts_with("--"));
    let code: Vec<&str> = code.collect();
    let writes = ["insert ", "update ", "delete "];
    if code
        .iter()
        .any(|line| writes.iter().any(|verb| line.starts_with(verb)))
    {
        return None;
    }
    let code = code.join("\n");
    let named = if folder == "tenants" {
        "id = $1"
    } else {
        "tenant_id = $1"
    };
    let mut parts = code.split(named);
    let mut open = parts.next()?.to_owned();
    let mut taken = 0;
    for part in parts {
        if part.starts_with(|next: char| next.is_ascii_digit()) {
            open.push_str(named);
        } else {
            // Remove the table's alias as well.
            let end =
                open.trim_end_matches(|last: char| last.is_ascii_alphanumeric() || last == '.');
            open.truncate(end.len());
            open.push_str("true");
            taken += 1;
        }
        open.push_str(part);
    }
    (taken > 0).then_some(open)
}

fn value(row: &Values, column: &str) -> Param {
    row.get(column).unwrap().clone()
}

/// Returns the parameters with which a statement finds rows of a world, without the tenant.
#[expect(clippy::too_many_lines, reason = "a table, one row for each statement")]
fn parameters(name: &str, world: &World) -> Vec<Param> {
    let none = || None::<Uuid>;
    let text = || None::<&str>;
    let [session, run] = ["agent_sessions", "agent_runs"].map(|table| world.id(table));
    let automation = world.id("automations");
    let stored = |table, column| vec![none().into(), value(world.stored(table), column)];
    let page = || params![none(), Uuid::max(), 50_u32];
    let runs = |status: Option<&str>, session: Option<Uuid>, automation: Option<Uuid>| {
        let at = || None::<Timestamp>;
        let ids = params![none(), Uuid::nil(), Uuid::max(), at(), at()];
        let filters = params![text(), text(), false, true, status];
        [
            ids,
            filters,
            params![session, automation, none(), 50_u32, 300_u32],
        ]
        .concat()
    };
    let approvals =
        |extra: Vec<Param>| [params![none(), Uuid::max(), text(), 50_u32], extra].concat();
    let sessions = |of_type: Option<&str>, by: Option<Uuid>| {
        let of_goal = None::<bool>;
        let filters = params![none(), of_type, Uuid::max(), text(), text(), of_goal, by];
        let patterns = params![text(), text(), text(), 50_u32];
        [filters, patterns].concat()
    };
    match name {
        "approvals/by_id" | "approvals/input" => params![none(), world.id("approvals")],
        "approvals/page" | "questions/page" => approvals(params![]),
        "approvals/page_of_session" => approvals(params![session, none()]),
        "approvals/page_of_run" => approvals(params![run, none(), none()]),
        "approvals/page_of_automation" => approvals(params![automation]),
        "questions/by_id" => params![none(), world.id("questions")],
        "questions/page_of_session" => approvals(params![session]),
        "artifacts/by_id" => params![none(), world.id("agent_artifacts")],
        "messages/before_task" | "task_checks/by_task" | "tasks/details" => {
            params![none(), world.id("agent_tasks")]
        }
        "trigger_files/by_run" => params![none(), world.id("agent_runs")],
        "artifacts/counts" => {
            let input = value(world.stored("agent_runs"), "input_id");
            [params![none(), session], vec![input]].concat()
        }
        "artifacts/newest" | "artifacts/version" => {
            let artifact = world.stored("agent_artifacts");
            let mut named = params![none(), session];
            named.push(value(artifact, "name"));
            if name == "artifacts/version" {
                named.push(value(artifact, "version"));
            }
            named
        }
        "artifacts/page" => params![none(), Uuid::max(), "report", 50_u32, session],
        "automations/bound_to" => params![none(), "bound"],
        "automations/by_id" => params![none(), automation],
        "automations/by_name" => stored("automations", "name"),
        "automations/page" => {
            let filters = params![none(), Uuid::max(), text(), text(), text()];
            [filters, params![none(), text(), text(), 50_u32]].concat()
        }
        "automations/sort_keys" => {
            let texts = params![text(), text()];
            [
                params![none(), "paused by a person"],
                texts,
                params![none(), text(), text()],
            ]
            .concat()
        }
        "deliveries/attempts" | "deliveries/by_id" => {
            params![none(), world.id("webhook_deliveries")]
        }
        "deliveries/list" => {
            let endpoint = world.id("notification_endpoints");
            params![none(), endpoint, none(), 50_u32]
        }
        "endpoints/by_id" => params![none(), world.id("notification_endpoints")],
        "feed/page" => {
            let beginning = params![none(), -1_i64, Uuid::nil(), 0_i64];
            [beginning, params![i64::MAX, 50_u32, none()]].concat()
        }
        "triggers/owner" => params![none(), world.id("automation_triggers")],
        "webhooks/trigger" => stored("webhook_secrets", "trigger_id"),
        "events/list" | "messages/list" => params![none(), session, 0_i64, 50_u32],
        "events/oldest" | "events/open_since" | "seats/names" | "seats/of_session"
        | "seats/overview" | "sessions/by_id" => {
            params![none(), session]
        }
        "instances/conflicting" => [stored("instances", "name"), params![text()]].concat(),
        "instances/name" | "instances/by_id" => params![none(), world.id("instances")],
        "instances/lock" => stored("instances", "id"),
        "idempotency_keys/response" => stored("idempotency_keys", "key"),
        "harnesses/automations" | "harnesses/open_sessions" => {
            params![none(), world.id("harnesses"), 50_u32]
        }
        "harnesses/by_id" | "harnesses/lock_to_remove" | "harnesses/share" => {
            params![none(), world.id("harnesses")]
        }
        "harnesses/by_name" => stored("harnesses", "name"),
        "automations/list"
        | "endpoints/list"
        | "feed/horizon"
        | "harnesses/list"
        | "instances/list"
        | "scheduler_status/automations"
        | "scheduler_status/queue_depth" => params![none()],
        "approvals/page_pending" | "questions/page_pending" | "tenants/page" | "tokens/page" => {
            page()
        }
        "live/read" => params![none(), run, 0_i64],
        "messages/before_run" | "records/read" | "runs/by_id" => {
            params![none(), run]
        }
        "messages/count_before" => params![none(), session, i64::MAX],
        "messages/published" => params![none(), session, none(), 0_i64, 50_u32],
        "messages/published_before" => params![none(), session, none(), i64::MAX, 50_u32],
        "messages/to_seat" => params![none(), session, world.id("agent_messages")],
        "messages/unacknowledged" => {
            params![none(), session, none(), 0_i64, i64::MAX, 50_u32]
        }
        "messages/before" => params![none(), session, i64::MAX, 50_u32],
        "runs/attempts" => stored("agent_runs", "input_id"),
        "approvals/ids_between"
        | "questions/ids_between"
        | "artifacts/ids_between"
        | "runs/ids_between"
        | "sessions/ids_between"
        | "tokens/ids_between" => {
            params![none(), Uuid::nil(), Uuid::max(), 50_u32]
        }
        "runs/outcomes_of_period" => {
            let ids = params![none(), Uuid::nil(), Uuid::max()];
            let period = params![Timestamp::UNIX_EPOCH, Timestamp::MAX];
            [ids, period, params![none(), 50_u32]].concat()
        }
        "runs/counts_of_period" => {
            let ids = params![none(), Uuid::nil(), Uuid::max()];
            let instants = params![
                Timestamp::UNIX_EPOCH,
                Timestamp::UNIX_EPOCH,
                Timestamp::UNIX_EPOCH
            ];
            [ids, instants, params![50_u32]].concat()
        }
        "runs/reported_by_day" => {
            let ids = params![none(), Uuid::nil(), Uuid::max()];
            [ids, params![Timestamp::UNIX_EPOCH, Timestamp::MAX]].concat()
        }
        "runs/changed_days" => {
            let since = params![none(), Timestamp::UNIX_EPOCH, Uuid::nil()];
            [since, params![Timestamp::UNIX_EPOCH, Timestamp::MAX]].concat()
        }
        "runs/failures_of_period" => {
            let ids = params![none(), Uuid::nil(), Uuid::max()];
            [ids, params![Timestamp::UNIX_EPOCH, "failed", 50_u32]].concat()
        }
        "automations/count_of_agents" | "goals/list_times" => params![none(), session],
        "memory/recall" => {
            let owner = value(world.stored("agent_memory_entries"), "automation_id");
            let turn = params![none(), Uuid::nil(), session, text()];
            let now = params![Timestamp::UNIX_EPOCH];
            let filters = params![text(), text(), text(), text(), None::<f64>, 50_u32];
            [turn, vec![owner], now, filters].concat()
        }
        "automations/needing_attention" => params![none(), "paused by a person", 50_u32],
        "goals/usage_of_day" | "spending/by_day" => {
            params![none(), Timestamp::UNIX_EPOCH, Timestamp::MAX]
        }
        "spending/of_day" => {
            let day = value(world.stored("spending"), "day");
            vec![none().into(), day, 50_u32.into()]
        }
        "triggers/next_due" | "goals/given_up" => params![none(), Timestamp::MAX, 50_u32],
        "runs/page" | "runs/page_of_all" => runs(None, None, None),
        "runs/page_open" => runs(Some("queued"), None, None),
        "runs/page_without_success" => runs(Some("failed"), None, None),
        "runs/page_with_reason" => {
            let mut params = runs(None, None, None);
            params[6] = "timeout".into();
            params
        }
        "runs/page_of_session" => runs(None, Some(session), None),
        "runs/page_of_automation" => runs(None, None, Some(automation)),
        "sessions/by_key" => stored("agent_sessions", "session_key"),
        "sessions/keys_like_ids" => params![none(), Uuid::nil(), 50_u32],
        "sessions/list" => params![none(), text(), none(), 50_u32],
        "sessions/page" => sessions(Some("regular"), None),
        "sessions/page_by_change" => {
            let begin = params![none(), "regular", Timestamp::MAX, Uuid::max()];
            let filters = params![text(), text(), None::<bool>, none()];
            let patterns = params![text(), text(), text(), 50_u32];
            [begin, filters, patterns].concat()
        }
        "sessions/page_of_automation" => sessions(None, Some(automation)),
        "tenants/by_id" => params![none(), world.tenant],
        "tokens/by_id" | "tokens/lock" => params![none(), world.id("api_tokens")],
        "tasks/page" => params![none(), session, -1_i64, 50_u32],
        "goals/list" => params![none(), Uuid::max(), 50_u32],
        "goals/needing_person" => params![none(), 50_u32],
        "goals/list_in_state" => params![none(), Uuid::max(), "active", 50_u32],
        "triggers/due" => params![none(), Timestamp::MAX, 50_u32, store::DOCUMENT_FORMAT],
        other => panic!("{other} names a tenant: give it parameters here"),
    }
}

/// Returns the result of a statement as one text.
async fn query_as_json(db: &TestStore, scope: Scope, text: &str, params: Vec<Param>) -> String {
    let sql =
        format!("select cast(coalesce(json_agg(x), '[]') as text) as found from (\n{text}\n) x");
    let rows = db.run(scope, &sql, params).await;
    let rows = rows.unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    rows[0].get("found").unwrap()
}

pub(crate) async fn row_security_alone_hides_rows_of_other_tenants(db: &TestStore) {
    let theirs = World::create(db).await;
    let bound = theirs
        .row("automations")
        .with("session_mode", "bound")
        .with("bound_session_key", "bound");
    db.insert("automations", &bound).await.unwrap();
    let needing = theirs.row("automations").with("attention", "look");
    db.insert("automations", &needing).await.unwrap();
    let made = id();
    let of_agent = theirs
        .row("automations")
        .with("id", made)
        .with("made_by_session_id", id())
        .with("made_by_run_id", id())
        .with("made_by_turn", 1_i64)
        .with("made_by_name", "build");
    db.insert("automations", &of_agent).await.unwrap();
    let trigger = theirs
        .row("automation_triggers")
        .with("automation_id", made);
    db.insert("automation_triggers", &trigger).await.unwrap();
    let keyed = theirs
        .row("agent_sessions")
        .with("session_key", "0199ab00000070008000000000000000");
    db.insert("agent_sessions", &keyed).await.unwrap();
    let paused = theirs
        .row("goals")
        .with("session_id", value(&keyed, "id"))
        .with("state", "paused")
        .with("reason", "budget");
    db.insert("goals", &paused).await.unwrap();
    let other = theirs.row("agent_sessions").with("session_key", "given-up");
    db.insert("agent_sessions", &other).await.unwrap();
    let given_up = theirs
        .row("goals")
        .with("session_id", value(&other, "id"))
        .with("state", "failed")
        .with("reason", "stuck for too long")
        .with("ended_at", Timestamp::MAX);
    db.insert("goals", &given_up).await.unwrap();
    db.insert("agent_runs", &theirs.queued_run()).await.unwrap();
    let failed = theirs.row("agent_runs").with("status", "failed");
    let failed = failed.with("reason", "timeout");
    db.insert("agent_runs", &failed).await.unwrap();
    let again = theirs.row("agent_runs").with("attempt", 2_i64);
    let again = again.with_value_of("input_id", theirs.stored("agent_runs"));
    db.insert("agent_runs", &again).await.unwrap();
    let of_person = theirs.row("agent_runs").with("origin", "person").without(&[
        "automation_id",
        "trigger_id",
        "scheduled_for",
    ]);
    db.insert("agent_runs", &of_person).await.unwrap();
    let empty = TestStore::open(db.dialect()).await;
    let us = Scope::Tenant(model::TenantId::from_uuid(id()));

    let folder = store_folder().join("src/sql");
    let mut listed = BTreeSet::new();
    files(&folder, "", &mut listed);
    let mut shown = 0;
    for file in listed.iter().filter(|file| !file.starts_with("sqlite/")) {
        let text = fs::read_to_string(folder.join(file).with_extension("sql")).unwrap();
        let name = file.strip_prefix("postgres/").unwrap_or(file);
        let (concept, _) = name.split_once('/').unwrap();
        let Some(text) = without_tenant_condition(&text, concept) else {
            continue;
        };
        // The open transactions belong to no tenant and differ between two queries.
        let text = text.replace("pg_current_snapshot()", "'1:1:'::pg_snapshot");
        let params = || parameters(name, &theirs);
        let nothing = query_as_json(&empty, Scope::System, &text, params()).await;
        let all = query_as_json(db, Scope::System, &text, params()).await;
        assert_ne!(all, nothing, "{name} would find nothing at all");
        let ours = query_as_json(db, us, &text, params()).await;
        assert_eq!(ours, nothing, "{name} reads of another tenant");
        shown += 1;
    }
    assert!(shown > 35, "{shown} statements name a tenant");
}
