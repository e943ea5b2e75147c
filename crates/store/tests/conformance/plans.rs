//! Query plans of lists: an index in the list's order, so that a page costs only its own rows.

use std::fs;

use model::Timestamp;
use store::{
    Scope,
    database::{Dialect, Param},
    params,
};
use uuid::Uuid;

use crate::{
    fixtures::{TestStore, statement},
    statements::store_folder,
};

/// Returns the statements of lists, the index of each, and `true` if the plan sorts.
#[expect(clippy::too_many_lines, reason = "a table, one row for each statement")]
fn plans() -> Vec<(&'static str, Vec<Param>, &'static [&'static str], bool)> {
    let id = || Uuid::from_u128(7);
    let no_text = || None::<&str>;
    let run = |session: Option<Uuid>, automation: Option<Uuid>, status: Option<&str>| {
        params![
            id(),
            Uuid::nil(),
            Uuid::max(),
            None::<Timestamp>,
            None::<Timestamp>,
            no_text(),
            no_text(),
            false,
            true,
            status,
            session,
            automation,
            None::<Uuid>,
            50_u32,
            300_u32
        ]
    };
    let session = |of_type: Option<&str>, automation: Option<Uuid>| {
        params![
            id(),
            of_type,
            Uuid::max(),
            no_text(),
            no_text(),
            None::<bool>,
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
    let open_of_goal: &[&str] = &[
        "questions_pending_by_session",
        "approvals_pending_by_session",
    ];
    vec![
        (
            "runs/page",
            run(None, None, None),
            &["agent_runs_of_tenant"],
            false,
        ),
        (
            "runs/page_open",
            run(None, None, Some("queued")),
            open,
            true,
        ),
        (
            "runs/page_without_success",
            run(None, None, Some("failed")),
            &["agent_runs_without_success"],
            false,
        ),
        (
            "runs/page_with_reason",
            {
                let mut params = run(None, None, None);
                params[6] = "timeout".into();
                params
            },
            &["agent_runs_by_reason"],
            false,
        ),
        (
            "runs/page_of_session",
            run(Some(id()), None, None),
            &["agent_runs_by_session"],
            false,
        ),
        (
            "runs/page_of_automation",
            run(None, Some(id()), None),
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
            "sessions/page_by_change",
            params![
                id(),
                "regular",
                Timestamp::MAX,
                Uuid::max(),
                no_text(),
                no_text(),
                None::<bool>,
                None::<Uuid>,
                no_text(),
                no_text(),
                no_text(),
                50_u32
            ],
            &["agent_sessions_by_type"],
            true,
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
            "questions/page",
            approval(vec![]),
            &["questions_of_tenant"],
            false,
        ),
        (
            "questions/page_pending",
            params![id(), Uuid::max(), 50_u32],
            &["questions_inbox"],
            false,
        ),
        (
            "questions/page_of_session",
            approval(params![id()]),
            &["questions_by_session"],
            false,
        ),
        (
            "questions/of_text",
            params![id(), "Which colour?"],
            &["questions_one_per_text"],
            false,
        ),
        (
            "questions/count_of_input",
            params![id()],
            &["questions_one_per_text"],
            false,
        ),
        (
            "goals/list",
            params![id(), Uuid::max(), 50_u32],
            open_of_goal,
            false,
        ),
        (
            "goals/list_in_state",
            params![id(), Uuid::max(), "done", 50_u32],
            &[
                "goals_by_state",
                "questions_pending_by_session",
                "approvals_pending_by_session",
            ],
            false,
        ),
        ("goals/list_times", params![id(), id()], open_of_goal, false),
        (
            "goals/needing_person",
            params![id(), 50_u32],
            &["goals_by_state"],
            false,
        ),
        (
            "goals/given_up",
            params![id(), Timestamp::MAX, 50_u32],
            &["goals_given_up"],
            false,
        ),
        (
            "goals/usage_of_day",
            params![id(), Timestamp::UNIX_EPOCH, Timestamp::MAX],
            &["goals_by_state", "agent_runs_by_session"],
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

/// Returns the text of a statement, which is shared by both databases or belongs to one of them.
fn text(own: &str, name: &str) -> String {
    let folder = store_folder().join("src/sql");
    let shared = folder.join(name).with_extension("sql");
    fs::read_to_string(&shared)
        .or_else(|_| fs::read_to_string(folder.join(own).join(name).with_extension("sql")))
        .unwrap()
}

pub(crate) async fn plans_of_pages_use_an_index(db: &TestStore) {
    let (own, explain, column) = match db.dialect() {
        Dialect::Postgres => ("postgres", "explain", "QUERY PLAN"),
        Dialect::Sqlite => ("sqlite", "explain query plan", "detail"),
    };
    for (name, params, indexes, sorted) in plans() {
        let text = text(own, name);
        let mut tx = db.database.begin(Scope::System).await.unwrap();
        if db.dialect() == Dialect::Postgres {
            // Otherwise the planner scans and sorts empty tables.
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

/// Checks that a report reads no run, automation or trigger that it does not need.
pub(crate) async fn plan_of_unreported_runs_uses_indexes(db: &TestStore) {
    let (own, explain, column) = match db.dialect() {
        Dialect::Postgres => ("postgres", "explain", "QUERY PLAN"),
        Dialect::Sqlite => ("sqlite", "explain query plan", "detail"),
    };
    let text = text(own, "runs/unreported");
    let mut tx = db.database.begin(Scope::System).await.unwrap();
    if db.dialect() == Dialect::Postgres {
        // Otherwise the planner scans and sorts empty tables.
        for set in [
            "set local enable_seqscan = off",
            "set local enable_sort = off",
            "set local enable_bitmapscan = off",
        ] {
            tx.execute(statement(set), params![]).await.unwrap();
        }
    }
    let explained = statement(&format!("{explain}\n{text}"));
    let (run, seat) = (Uuid::from_u128(7), Uuid::from_u128(8));
    let plan = tx.fetch_all(explained, params![run, seat]).await.unwrap();
    let lines: Vec<String> = plan.iter().map(|row| row.get(column).unwrap()).collect();
    let plan = lines.join("\n");
    for index in [
        "agent_runs_unsuccessful_by_seat",
        "agent_runs_unfired_by_automation",
        "agent_runs_declined_by_seat",
        "agent_runs_in_quiet_hours_by_automation",
        "automations_by_current_session",
        "automations_by_bound_session_key",
    ] {
        assert!(plan.contains(index), "no {index}:\n{plan}");
    }
    assert!(
        !plan.contains("Seq Scan") && !plan.contains("Sort"),
        "{plan}"
    );
    assert!(!plan.contains("TEMP B-TREE"), "{plan}");
    // The other scans are of the rows that the statement has computed.
    for table in ["a", "d", "e", "g", "later", "r", "x"] {
        let scan = format!("SCAN {table} ");
        let scanned = lines
            .iter()
            .any(|line| format!("{line} ").starts_with(&scan));
        assert!(!scanned, "{table}:\n{plan}");
    }
}

/// Checks that a period is read from its end up to the limit. A join with all attempts would read all of it.
pub(crate) async fn periods_join_no_attempts(db: &TestStore) {
    let (id, at) = (Uuid::from_u128(7), Timestamp::UNIX_EPOCH);
    let (first, last) = (Uuid::nil(), Uuid::max());
    for (name, params) in [
        (
            "runs/outcomes_of_period",
            params![id, first, last, at, at, None::<Uuid>, 50_u32],
        ),
        (
            "runs/counts_of_period",
            params![id, first, last, at, at, at, 50_u32],
        ),
        ("runs/reported_by_day", params![id, first, last, at, at]),
        (
            "runs/changed_days",
            params![id, at, first, at, Timestamp::MAX],
        ),
    ] {
        let explained = statement(&format!("explain\n{}", text("postgres", name)));
        let mut tx = db.database.begin_read(Scope::System).await.unwrap();
        let plan = tx.fetch_all(explained, params).await.unwrap();
        let lines = plan.iter().map(|row| row.get("QUERY PLAN").unwrap());
        let plan = lines.collect::<Vec<String>>().join("\n");
        assert!(plan.contains("SubPlan"), "{name}:\n{plan}");
        assert!(!plan.contains("Join"), "{name}:\n{plan}");
    }
}

/// Checks the most frequent statements with the plans that PostgreSQL keeps while the tables grow: each row is found by
/// an index from a known position, and the chosen rows are changed by ID.
pub(crate) async fn plans_of_claim_and_fire_due_use_queue_indexes(db: &TestStore) {
    let claim = kept_plan(
        db,
        "runs/claim",
        "(text, timestamptz, uuid, bigint, uuid, bigint)",
        "('worker', '2026-11-02', '00000000-0000-0000-0000-000000000007', 4, null, 1)",
    )
    .await;
    assert_found_by_indexes(
        &claim,
        "agent_runs",
        "agent_runs_claimable",
        "agent_runs_pkey",
    );
    // Scans the tenants; then, for each one, the runs of any instance and those of this instance, twice.
    let bounds = |of: &str| {
        claim
            .matches(&format!("({of}) AND (ROW(priority, input_at, id) >= ROW("))
            .count()
    };
    assert_eq!(
        (bounds("instance_id IS NULL"), bounds("instance_id = $3")),
        (2, 2),
        "{claim}"
    );

    let look = kept_plan(
        db,
        "triggers/due",
        "(uuid, timestamptz, bigint, bigint)",
        "(null, '2026-11-02', 4, 1)",
    )
    .await;
    assert_found_by_indexes(
        &look,
        "automation_triggers",
        "automation_triggers_due_of_tenant",
        "automation_triggers_pkey",
    );
    let of_tenant = |line: &&str| {
        line.contains("Index Cond: ((tenant_id = ") && line.contains("(next_fire_at <= $2)")
    };
    assert_eq!(look.lines().filter(of_tenant).count(), 2, "{look}");
}

/// Checks that instants of older zone rules are found by their index: in the status of an idle tick and in a batch.
pub(crate) async fn outdated_triggers_are_found_by_index(db: &TestStore) {
    for (name, types, values) in [
        (
            "scheduler_status/pending_work",
            "(timestamptz, bigint, text, timestamptz)",
            "('2026-11-02', 1, '2026e', '2026-11-02')",
        ),
        (
            "triggers/outdated",
            "(timestamptz, text, bigint, bigint)",
            "('2026-11-02', '2026e', 4, 1)",
        ),
    ] {
        let plan = kept_plan(db, name, types, values).await;
        let by_index = "Index Scan using automation_triggers_by_zone_rules on automation_triggers";
        assert!(plan.contains(by_index), "{name}:\n{plan}");
    }
}

/// Returns the plan that PostgreSQL keeps for any parameters, made while the tables are empty.
async fn kept_plan(db: &TestStore, name: &str, types: &str, values: &str) -> String {
    let mut tx = db.database.begin(Scope::System).await.unwrap();
    let keep = statement(&text("postgres", "plans/force_generic"));
    tx.fetch_one(keep, params![]).await.unwrap();
    let prepare = format!("prepare kept {types} as\n{}", text("postgres", name));
    tx.execute(statement(&prepare), params![]).await.unwrap();
    let explain = statement(&format!("explain (costs off) execute kept {values}"));
    let plan = tx.fetch_all(explain, params![]).await.unwrap();
    let lines: Vec<String> = plan
        .iter()
        .map(|row| row.get("QUERY PLAN").unwrap())
        .collect();
    tx.execute(statement("deallocate kept"), params![])
        .await
        .unwrap();
    let plan = lines.join("\n");
    assert!(
        plan.contains("$2"),
        "the plan was made for these values only:\n{plan}"
    );
    plan
}

/// Fails unless a plan reads a table only by two indexes, and uses both, or by the small index of the documents that
/// need a later format.
fn assert_found_by_indexes(plan: &str, table: &str, queue: &str, key: &str) {
    assert!(!plan.contains("Bitmap"), "{plan}");
    let of_table = |line: &&str| line.contains(" Scan") && line.contains(&format!(" on {table}"));
    for scan in plan.lines().filter(of_table) {
        let by = |index: &str| scan.contains(&format!(" using {index} on "));
        let too_new = by(&format!("{table}_needing"));
        assert!(by(queue) || by(key) || too_new, "{scan} in\n{plan}");
    }
    for index in [queue, key] {
        assert!(plan.contains(index), "without {index}:\n{plan}");
    }
}
