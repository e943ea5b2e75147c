//! Automations that need a later document format than this program supports.

use serde_json::{Value, json};
use store::{DOCUMENT_FORMAT, Scope, database::Statement};

use crate::world::World;

/// Changes rows as a later program would.
async fn execute_sql(world: &World, sql: String) {
    let sql: &'static str = sql.leak();
    let statement = Box::leak(Box::new(Statement::new("a test's statement", sql, sql)));
    let mut tx = world.store.database().begin(Scope::System).await.unwrap();
    tx.execute(statement, Vec::new()).await.unwrap();
    tx.commit().await.unwrap();
}

async fn set_needs_format(world: &World, table: &str, needs: i64) {
    let sql = format!("update {table} set format = {needs}, needs_format = {needs}");
    execute_sql(world, sql).await;
}

pub(crate) async fn automation_of_newer_format_can_only_be_read_paused_and_deleted(world: &World) {
    let asked = json!({ "name": "daily", "prompt": "Look.", "agent": "good",
        "triggers": [{ "kind": "cron", "expression": "0 9 * * *" }] });
    let made = world.post("/automations", asked).await.expect(201);
    assert_eq!(made["newer_format"], Value::Null);
    let later = DOCUMENT_FORMAT + 1;
    set_needs_format(world, "automations", later).await;

    let shown = world.get("/automations/daily").await.expect(200);
    assert_eq!(
        shown["newer_format"],
        json!({ "needed": later, "honoured": DOCUMENT_FORMAT })
    );
    let patch = json!({ "prompt": "Look again." });
    for refused in [
        world.post("/automations/daily/fire", json!({})).await,
        world
            .request_as(
                &world.admin,
                "PATCH",
                "/automations/daily",
                Some(&patch),
                &[],
            )
            .await,
        world.post("/automations/daily/reset", json!({})).await,
        world.post("/automations/daily/resume", json!({})).await,
    ] {
        if refused.status == 409 {
            let detail = refused.problem(409);
            let both = [
                format!("format {later}"),
                format!("formats up to {DOCUMENT_FORMAT}"),
            ];
            let named = both.iter().all(|one| detail.contains(one));
            // An automation that is already enabled cannot be resumed, so that the error may name the state instead.
            assert!(named || detail.contains("enabled"), "{detail}");
        } else {
            panic!("{refused:?}");
        }
    }
    let paused = world
        .post("/automations/daily/pause", json!({}))
        .await
        .expect(200);
    assert_eq!(paused["state"], "paused");
    let refused = world.post("/automations/daily/resume", json!({})).await;
    assert!(refused.problem(409).contains(&format!("format {later}")));

    // A word that only a later program can read.
    execute_sql(
        world,
        "update automations set policies = '{\"overlap\":\"a later word\"}'".into(),
    )
    .await;
    let listed = world.get("/automations").await.expect(200);
    assert!(listed.to_string().contains("newer_format"), "{listed}");
    world.delete("/automations/daily").await.expect(200);

    set_needs_format(world, "harnesses", later).await;
    let checked = world.post("/agents/good/check", json!({})).await;
    assert!(checked.problem(409).contains(&format!("format {later}")));
}
