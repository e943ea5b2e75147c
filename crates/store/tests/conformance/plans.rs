//! How lists are found: by an index, in its order, so that a page costs what it shows.

use std::{fs, path::Path};

use model::Timestamp;
use store::{
    Scope,
    database::{Dialect, Param},
    params,
};
use uuid::Uuid;

use crate::fixtures::{TestStore, statement};

/// The statements of lists, the index by which each is found, and whether what it finds is sorted.
#[expect(clippy::too_many_lines, reason = "a table, one row for each statement")]
fn plans() -> Vec<(&'static str, Vec<Param>, &'static [&'static str], bool)> {
    let id = || Uuid::from_u128(7);
    let no_text = || None::<&str>;
    let run = |extra: Vec<Param>, status: Option<&str>| {
        let mut params = params![id(), Uuid::max(), no_text(), false, status, 50_u32];
        params.extend(extra);
        params
    };
    let session = |of_type: Option<&str>, automation: Option<Uuid>| {
        params![
            id(),
            of_type,
            Uuid::max(),
            no_text(),
            no_text(),
            automation,
            no_text(),
            no_text(),
            no_text(),
            50_u32
        ]
    };
    let approval = |extra: Vec<Param>| {
        let mut params = params![id(), Uuid::max(), no_text(), 50_u32];
        params.extend(extra);
        params
    };
    let none = || None::<Uuid>;
    let open: &[&str] = &[
        "agent_runs_one_active_per_seat",
        "agent_runs_deferred_by_seat",
    ];
    vec![
        (
            "runs/page",
            run(vec![], None),
            &["agent_runs_of_tenant"],
            false,
        ),
        ("runs/page_open", run(vec![], Some("queued")), open, true),
        (
            "runs/page_without_success",
            run(vec![], Some("failed")),
            &["agent_runs_without_success"],
            false,
        ),
        (
            "runs/page_of_session",
            run(params![id(), None::<Uuid>], None),
            &["agent_runs_by_session"],
            false,
        ),
        (
            "runs/page_of_automation",
            run(params![id()], None),
            &["agent_runs_by_automation"],
            false,
        ),
        (
            "sessions/page",
            session(Some("regular"), None),
            &["agent_sessions_by_type"],
            false,
        ),
        (
            "sessions/page_of_automation",
            session(None, Some(id())),
            &["agent_sessions_by_schedule"],
            false,
        ),
        (
            "automations/page",
            params![
                id(),
                Uuid::max(),
                no_text(),
                no_text(),
                no_text(),
                None::<Uuid>,
                no_text(),
                no_text(),
                50_u32
            ],
            &["automations_of_tenant"],
            false,
        ),
        (
            "triggers/page",
            params![id(), Uuid::max(), 50_u32],
            &["automation_triggers_by_automation"],
            false,
        ),
        (
            "approvals/page",
            approval(vec![]),
            &["approvals_of_tenant"],
            false,
        ),
        (
            "approvals/page_pending",
            params![id(), Uuid::max(), 50_u32],
            &["approvals_inbox"],
            false,
        ),
        (
            "approvals/page_of_session",
            approval(params![id(), none()]),
            &["approvals_by_session"],
            false,
        ),
        (
            "approvals/page_of_run",
            approval(params![id(), none(), none()]),
            &["approvals_by_run"],
            false,
        ),
        (
            "approvals/page_of_automation",
            approval(params![id()]),
            &["approvals_by_automation"],
            false,
        ),
        (
            "tokens/page",
            params![id(), Uuid::max(), 50_u32],
            &["api_tokens_of_tenant"],
            false,
        ),
        (
            "tokens/by_hash",
            params![vec![0_u8; 32], Timestamp::UNIX_EPOCH],
            &["api_tokens_one_per_hash"],
            false,
        ),
    ]
}

/// The text of a statement, which is one for both databases or one of its own.
fn text(own: &str, name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sql");
    let shared = folder.join(name).with_extension("sql");
    fs::read_to_string(&shared)
        .or_else(|_| fs::read_to_string(folder.join(own).join(name).with_extension("sql")))
        .unwrap()
}

pub(crate) async fn pages_are_found_by_an_index(db: &TestStore) {
    let (own, explain, column) = match db.dialect() {
        Dialect::Postgres => ("postgres", "explain", "QUERY PLAN"),
        Dialect::Sqlite => ("sqlite", "explain query plan", "detail"),
    };
    for (name, params, indexes, sorted) in plans() {
        let text = text(own, name);
        let mut tx = db.database.begin(Scope::System).await.unwrap();
        if db.dialect() == Dialect::Postgres {
            // Empty tables are read from end to end otherwise, and sorted.
            for set in [
                "set local enable_seqscan = off",
                "set local enable_sort = off",
            ] {
                tx.execute(statement(set), params![]).await.unwrap();
            }
        }
        let explained = statement(&format!("{explain}\n{text}"));
        let plan = tx.fetch_all(explained, params).await.unwrap();
        let lines: Vec<String> = plan.iter().map(|row| row.get(column).unwrap()).collect();
        let plan = lines.join("\n");
        for index in indexes {
            assert!(plan.contains(index), "{name} without {index}:\n{plan}");
        }
        let sorts = plan.contains("Sort") || plan.contains("TEMP B-TREE FOR ORDER BY");
        assert!(!sorts || sorted, "{name} sorts:\n{plan}");
        let from_end_to_end = |line: &&String| {
            line.contains("Seq Scan") || (line.starts_with("SCAN") && !line.contains("INDEX"))
        };
        let read = lines.iter().find(from_end_to_end);
        assert_eq!(read, None, "{name}:\n{plan}");
    }
}

/// What is asked most often, and with plans that are kept: each row is found by an index, from the place where
/// the first one is on, and what is chosen is changed by its id.
pub(crate) async fn claims_and_looks_read_what_they_take(db: &TestStore) {
    let claim = params![
        "worker",
        Timestamp::UNIX_EPOCH,
        Uuid::from_u128(7),
        4_u32,
        None::<Uuid>
    ];
    let look = params![None::<Uuid>, Timestamp::UNIX_EPOCH, 4_u32];
    let queue = "Index Cond: ((tenant_id = l.tenant_id) AND (instance_id IS NULL) \
         AND (ROW(priority, input_at, id) >= ROW(l.priority, l.input_at, l.id)))";
    let due = "Index Cond: ((tenant_id = o_1.tenant_id) AND (next_fire_at <= ";
    for (name, params, expected) in [
        ("runs/claim", claim, [queue, "agent_runs_pkey"]),
        ("triggers/due", look, [due, "automation_triggers_pkey"]),
    ] {
        let mut tx = db.database.begin(Scope::System).await.unwrap();
        tx.fetch_one(statement(&text("postgres", "plans/keep")), params![])
            .await
            .unwrap();
        let explained = statement(&format!("explain\n{}", text("postgres", name)));
        let plan = tx.fetch_all(explained, params).await.unwrap();
        let lines: Vec<String> = plan
            .iter()
            .map(|row| row.get::<String>("QUERY PLAN").unwrap())
            .map(|line| line.split("  (cost").next().unwrap_or(&line).to_owned())
            .collect();
        let plan = lines.join("\n");
        // Made for tables that are empty, as they are kept where they grow.
        for part in expected {
            assert!(plan.contains(part), "{name} without {part}:\n{plan}");
        }
        assert!(!plan.contains("Seq Scan"), "{name}:\n{plan}");
    }
}
