//! Messages of people to the seats of sessions.

use model::{access::Permission, access::Role};
use serde_json::{Value, json};

use crate::world::World;

fn texts(page: &Value) -> Vec<&str> {
    let items = page["items"].as_array().unwrap().iter();
    items.map(|item| item["text"].as_str().unwrap()).collect()
}

pub(crate) async fn message_to_seat_is_sent_once_listed_and_acknowledged(world: &World) {
    let session = world.session().await;
    let path = format!("/sessions/{session}/seat-messages");
    let hello = json!({ "to": "agent", "text": "Hello" });
    let headers = [("idempotency-key", "one")];
    let sent = world.request_as(&world.admin, "POST", &path, Some(&hello), &headers);
    let sent = sent.await.expect(201);
    let again = world.request_as(&world.admin, "POST", &path, Some(&hello), &headers);
    assert_eq!(again.await.expect(201), sent);
    let message = &sent["items"][0];
    assert_eq!(
        (&message["to"], &message["state"], &message["from_seat_id"]),
        (&json!("agent"), &json!("undelivered"), &Value::Null)
    );
    let all = json!({ "to": "all", "text": "Everybody" });
    world.post(&path, all).await.expect(201);
    // A list continues after a message.
    let page = world.get(&format!("{path}?limit=1")).await.expect(200);
    assert_eq!(texts(&page), ["Hello"]);
    let next = page["next"].as_str().unwrap();
    let page = world.get(&format!("{path}?since={next}")).await.expect(200);
    assert_eq!(texts(&page), ["Everybody"]);
    assert_eq!(page["next"], Value::Null);
    let page = world.get(&format!("{path}?to=agent")).await.expect(200);
    assert_eq!(texts(&page), ["Hello", "Everybody"]);
    // The other order continues with older messages.
    let newest = format!("{path}?order=newest&limit=1");
    let page = world.get(&newest).await.expect(200);
    assert_eq!(texts(&page), ["Everybody"]);
    let next = page["next"].as_str().unwrap();
    let page = world.get(&format!("{newest}&since={next}")).await;
    let page = page.expect(200);
    assert_eq!(texts(&page), ["Hello"]);
    assert_eq!(page["next"], Value::Null);
    // Both messages share one input.
    let runs = world.get(&format!("/runs?session={session}")).await;
    let runs = runs.expect(200);
    assert_eq!(runs["items"].as_array().unwrap().len(), 1);
    assert_eq!(runs["items"][0]["origin"], "message");
    let id = message["id"].as_str().unwrap();
    let acknowledged = world.post(&format!("{path}/{id}/ack"), json!({})).await;
    let acknowledged = acknowledged.expect(200);
    assert_eq!(acknowledged["state"], "delivered");
    assert_ne!(acknowledged["delivered_at"], Value::Null);
}

pub(crate) async fn invalid_message_to_seat_is_refused_with_field(world: &World) {
    let session = world.session().await;
    let path = format!("/sessions/{session}/seat-messages");
    for (body, field) in [
        (json!({ "to": "agnet", "text": "Hello" }), "to"),
        (json!({ "to": "agent", "text": " " }), "text"),
        (json!({ "to": "agent", "text": "x".repeat(8193) }), "text"),
    ] {
        let detail = world.post(&path, body).await.problem(422);
        assert!(detail.contains(field), "{detail}");
    }
    let detail = world
        .post(&path, json!({ "to": "agnet", "text": "Hello" }))
        .await
        .problem(422);
    assert!(detail.contains("did you mean `agent`?"), "{detail}");
    world.get(&format!("{path}?to=nobody")).await.problem(422);
    world.get(&format!("{path}?since=x")).await.problem(400);
    world.get(&format!("{path}?order=x")).await.problem(400);
    let unknown = format!("{path}?since=msg_{}", "0197".repeat(8));
    world.get(&unknown).await.problem(404);
    let viewer = world
        .token(Role::Viewer, Some(&[Permission::SessionsRead]))
        .await;
    let hello = json!({ "to": "agent", "text": "Hello" });
    let refused = world.request_as(&viewer, "POST", &path, Some(&hello), &[]);
    assert!(refused.await.problem(403).contains("sessions:write"));
    let complete = format!("/sessions/{session}/complete");
    world.post(&complete, json!({})).await.expect(200);
    world.post(&path, hello).await.problem(409);
}
