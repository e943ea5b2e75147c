//! The guarantees that are constraints: each refuses an invalid row under its name.

use std::collections::BTreeSet;

use store::{
    Scope,
    database::{Dialect, Error},
    params,
};

use crate::{
    catalog, check_violations,
    fixtures::{TABLES, TestStore, Values, World, id, instant, statement},
};

/// Inserts rows in a transaction that is rolled back. Returns the result of the last insert.
async fn insert_and_roll_back(db: &TestStore, table: &str, rows: &[&Values]) -> Result<(), Error> {
    let mut tx = db.database.begin(Scope::System).await.unwrap();
    let mut last = Ok(());
    for row in rows {
        last.unwrap();
        last = tx
            .execute(statement(&row.insert_into(table)), row.params())
            .await
            .map(|_| ());
    }
    last
}

/// Returns a row to which a unique index applies.
fn row_for_index(world: &World, index: &str, table: &str) -> Values {
    let row = world.row(table);
    match index {
        "agent_runs_one_active_per_seat" => world.queued_run(),
        "agent_runs_one_active_per_automation" => world.queued_run().with("exclusive", true),
        "agent_runs_one_message_input_per_seat" => world
            .queued_run()
            .with("status", "deferred")
            .with("origin", "message"),
        "agent_definitions_one_entry_per_session" => row.with("is_entry", true),
        "automation_triggers_one_manual_per_automation" => row
            .with("kind", "manual")
            .without(&["next_scheduled_for", "next_fire_at"]),
        "automations_one_per_name_of_agents" => row
            .with("made_by_session_id", id())
            .with("made_by_run_id", id())
            .with("made_by_turn", 1_i64)
            .with("made_by_name", "build"),
        "agent_tasks_one_open_plan" => row.with("kind", "plan"),
        "instances_one_per_folder" => row.with("folder_key", "/srv/agent"),
        "agent_memory_entries_one_per_key_of_session" => row
            .without(&["automation_id"])
            .with("session_id", world.id("agent_sessions")),
        _ => row,
    }
}

pub(crate) async fn duplicate_row_violates_named_unique_index(db: &TestStore) {
    let world = World::create(db).await;
    let seat = world.row("agent_definitions");
    db.insert("agent_definitions", &seat).await.unwrap();
    for (index, columns_of_index) in catalog::unique_indexes(db).await {
        let (table, columns) = columns_of_index.split_once(' ').unwrap();
        if columns.starts_with("tenant_id") && columns.ends_with(",id") {
            // This index exists for foreign keys; the primary key refuses the row as well.
            continue;
        }
        let first = row_for_index(&world, &index, table);
        let mut second = row_for_index(&world, &index, table);
        if index == "agent_runs_one_active_per_automation" {
            second = second.with_value_of("seat_id", &Values::of("seat_id", seat.get("id")));
        }
        let second = columns
            .split(',')
            .fold(second, |row, column| row.with_value_of(column, &first));
        let refused = insert_and_roll_back(db, table, &[&first, &second])
            .await
            .unwrap_err();
        assert_eq!(refused.conflict(), Some(index.as_str()), "{refused:?}");
    }
    let again = world.stored("agent_runs");
    let refused = db.insert("agent_runs", again).await.unwrap_err();
    assert!(refused.conflict().is_some(), "{refused:?}");
}

pub(crate) async fn ended_or_deleted_row_frees_unique_index(db: &TestStore) {
    let world = World::create(db).await;
    let run = world.queued_run().with("exclusive", true);
    let manual = || {
        world
            .row("automation_triggers")
            .with("kind", "manual")
            .without(&["next_scheduled_for", "next_fire_at"])
    };
    let retry = world.stored("agent_runs").clone().with("id", id());
    let rooms = [
        (
            "agent_runs",
            run.clone(),
            world.queued_run().with("status", "deferred"),
        ),
        (
            "agent_runs",
            run,
            world.row("agent_runs").with("exclusive", true),
        ),
        (
            "agent_runs",
            world.row("agent_runs"),
            retry.with("attempt", 2_u32),
        ),
        (
            "agent_definitions",
            world.row("agent_definitions"),
            world.row("agent_definitions"),
        ),
        (
            "automation_triggers",
            manual().with("deleted_at", instant()),
            manual(),
        ),
        (
            "automations",
            world
                .row("automations")
                .with("name", "same")
                .with("deleted_at", instant()),
            world.row("automations").with("name", "same"),
        ),
        (
            "instances",
            world
                .row("instances")
                .with("name", "same")
                .with("state", "gone"),
            world.row("instances").with("name", "same"),
        ),
    ];
    for (table, first, second) in rooms {
        insert_and_roll_back(db, table, &[&first, &second])
            .await
            .unwrap();
    }
}

pub(crate) async fn inconsistent_row_violates_named_check(db: &TestStore) {
    let world = World::create(db).await;
    let mut unbroken = catalog::checks(db).await;
    for (check, row) in check_violations::rows_breaking_checks(&world) {
        let of_check = |table: &&&str| check.starts_with(**table);
        let table = TABLES
            .iter()
            .filter(of_check)
            .max_by_key(|t| t.len())
            .unwrap();
        match insert_and_roll_back(db, table, &[&row]).await {
            Err(Error::CheckFailed { constraint, .. }) => assert_eq!(constraint, check),
            other => panic!("{check} lets {row:?} pass: {other:?}"),
        }
        assert!(unbroken.remove(check), "{check} is not in the schema");
    }
    assert!(unbroken.is_empty(), "no row violates {unbroken:?}");
}

/// SQLite reports the columns of a violated index instead of its name: see `UniqueIndexes`.
pub(crate) async fn unique_indexes_of_table_have_distinct_columns(db: &TestStore) {
    let mut seen = BTreeSet::new();
    for (index, columns) in catalog::unique_indexes(db).await {
        assert!(seen.insert(columns), "{index}");
    }
}

pub(crate) async fn every_foreign_key_includes_tenant(db: &TestStore) {
    let keys = catalog::foreign_keys(db).await;
    assert!(!keys.is_empty());
    for key in keys {
        assert_eq!(key.columns[0], "tenant_id", "{key:?}");
        let owner = if key.parent == "tenants" {
            "id"
        } else {
            "tenant_id"
        };
        assert_eq!(key.parent_columns[0], owner, "{key:?}");
    }
}

pub(crate) async fn reference_to_row_of_other_tenant_is_refused(db: &TestStore) {
    let (ours, theirs) = (World::create(db).await, World::create(db).await);
    for key in catalog::foreign_keys(db).await {
        if key.parent == "tenants" {
            continue;
        }
        let parent = theirs.row(&key.parent);
        let last = key.columns.last().unwrap();
        assert_eq!(key.parent_columns.last().unwrap(), "id", "{key:?}");
        let mut child = ours.row(&key.table);
        if (key.table.as_str(), last.as_str()) == ("api_tokens", "run_id") {
            child = child.with("role", "run").without(&["instance_id"]);
        }
        if (key.table.as_str(), last.as_str()) == ("api_tokens", "parent_id") {
            child = child.with("kind", "browser").with("expires_at", instant());
        }
        if (key.table.as_str(), last.as_str()) == ("agent_memory_entries", "session_id") {
            child = child.without(&["automation_id"]);
        }
        if key.table == "spending" {
            child = child.with_value_of("spender_id", &Values::of("spender_id", parent.get("id")));
        }
        let child = child.with_value_of(last, &Values::of(last, parent.get("id")));
        let mut tx = db.database.begin(Scope::System).await.unwrap();
        tx.execute(statement(&parent.insert_into(&key.parent)), parent.params())
            .await
            .unwrap();
        let stored = tx
            .execute(statement(&child.insert_into(&key.table)), child.params())
            .await;
        assert!(
            matches!(stored, Err(Error::MissingReference { .. })),
            "{key:?}: {stored:?}"
        );
    }
}

pub(crate) async fn session_deletion_cascades_to_its_rows(db: &TestStore) {
    let world = World::create(db).await;
    db.run(Scope::System, "delete from agent_sessions", params![])
        .await
        .unwrap();
    for table in TABLES {
        let stays = [
            "tenants",
            "harnesses",
            "instances",
            "automations",
            "automation_triggers",
            "agent_memory_entries",
            "agent_credentials",
            "api_tokens",
            "sign_in_links",
            "idempotency_keys",
            "webhook_secrets",
            "webhook_receipts",
            "notification_endpoints",
            "automation_events",
            "feed_trims",
            "spending",
        ]
        .contains(table);
        assert_eq!(
            db.count(Scope::System, table).await,
            i64::from(stays),
            "{table}"
        );
    }
    let session = world.row("agent_sessions");
    db.insert("agent_sessions", &session).await.unwrap();
    let sql = "update automations set current_session_id = $1";
    let link = vec![session.get("id").unwrap().clone()];
    db.run(Scope::System, sql, link).await.unwrap();
    let refused = db
        .run(Scope::System, "delete from agent_sessions", params![])
        .await;
    assert!(
        matches!(refused, Err(Error::MissingReference { .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn schemas_of_both_databases_are_equal() {
    let sqlite = TestStore::open(Dialect::Sqlite).await;
    let postgres = TestStore::open(Dialect::Postgres).await;
    let mut fixtures: Vec<&str> = TABLES.to_vec();
    fixtures.sort_unstable();
    assert_eq!(catalog::tables(&sqlite).await, fixtures);
    assert_eq!(catalog::tables(&postgres).await, fixtures);
    assert_eq!(
        catalog::columns(&sqlite).await,
        catalog::columns(&postgres).await
    );
    assert_eq!(
        catalog::unique_indexes(&sqlite).await,
        catalog::unique_indexes(&postgres).await
    );
    assert_eq!(
        catalog::checks(&sqlite).await,
        catalog::checks(&postgres).await
    );
    let keys = async |db| -> BTreeSet<String> {
        let keys = catalog::foreign_keys(db).await;
        keys.iter().map(|key| format!("{key:?}")).collect()
    };
    assert_eq!(keys(&sqlite).await, keys(&postgres).await);
}

pub(crate) async fn active_run_excludes_other_active_runs_of_seat(db: &TestStore) {
    let world = World::create(db).await;
    let run = |status: &str| {
        let run = world.queued_run().with("status", status);
        match status {
            "queued" => run,
            _ => run
                .with("worker_id", "w")
                .with("claimed_at", instant())
                .with("started_at", instant()),
        }
    };
    let unfinished = ["queued", "delivered", "running"];
    for first in unfinished {
        for second in unfinished {
            let refused =
                insert_and_roll_back(db, "agent_runs", &[&run(first), &run(second)]).await;
            let refused = refused.unwrap_err();
            let index = Some("agent_runs_one_active_per_seat");
            assert_eq!(refused.conflict(), index, "{first} {second}: {refused:?}");
        }
    }
}
