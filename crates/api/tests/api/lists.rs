//! Filters of lists.

use serde_json::{Value, json};

use crate::world::World;

/// Sends a message to a new session, takes its turn, and returns the ID of its run.
async fn answered_message(world: &World, text: &str) -> String {
    let session = world.session().await;
    let path = format!("/sessions/{session}/messages");
    let sent = world.post(&path, json!({ "text": text })).await;
    sent.expect(202);
    world.take_turns(&session).await;
    sent.json()["id"].as_str().unwrap().to_owned()
}

pub(crate) async fn run_list_filters_by_statuses_reason_and_time(world: &World) {
    let long = "Say it ".repeat(100);
    let run = answered_message(world, &long).await;
    let list = async |query: &str| {
        let page = world.get(&format!("/runs?{query}")).await;
        page.expect(200);
        page.json()["items"].as_array().unwrap().clone()
    };
    let all = list("").await;
    let [item] = all.as_slice() else {
        panic!("{all:?}");
    };
    assert_eq!(item["id"], run.as_str());
    let excerpt = item["content"].as_str().unwrap();
    assert_eq!(excerpt.chars().count(), 300);
    assert!(long.starts_with(excerpt));
    assert!(item["agent_name"].is_string(), "{item}");
    assert_eq!(item["automation_name"], Value::Null);
    let status = item["status"].as_str().unwrap();
    assert_eq!(list(&format!("status=queued,{status}")).await.len(), 1);
    assert_eq!(list("status=queued,missed").await.len(), 0);
    assert_eq!(list("reason=sign_in").await.len(), 0);
    assert_eq!(list("from=2199-01-01T00:00:00Z").await.len(), 0);
    assert_eq!(list("to=2001-01-01T00:00:00Z").await.len(), 0);
    assert_eq!(list("all_attempts=true").await.len(), 1);

    for (query, field, value) in [
        ("status=failed,gone", "status", "gone"),
        ("from=yesterday", "from", "yesterday"),
        ("all_attempts=maybe", "all_attempts", "maybe"),
    ] {
        let refused = world.get(&format!("/runs?{query}")).await;
        let detail = refused.problem(400);
        assert!(detail.contains(value), "{detail}");
        assert_eq!(refused.json()["field"], field, "{detail}");
    }
}
