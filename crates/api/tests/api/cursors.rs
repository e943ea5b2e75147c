//! The cursor with which a client continues a trace, in a header or in a parameter.

use serde_json::json;

use crate::world::World;

pub(crate) async fn trace_resumes_after_id_from_header_or_parameter(world: &World) {
    let session = world.session().await;
    let path = format!("/sessions/{session}");
    for words in ["One", "Two"] {
        let said = json!({ "text": words });
        let said = world.post(&format!("{path}/messages"), said).await;
        said.expect(202);
    }
    world.take_turns(&session).await;
    let scope = store::Scope::Tenant(world.tenant);
    let log = world
        .store
        .events(scope, session.parse().unwrap(), 0, 1000)
        .await;
    let numbers: Vec<_> = log.unwrap().iter().map(|one| one.seq.to_string()).collect();
    assert!(numbers.len() > 6, "{numbers:?}");
    let (second, fifth) = (numbers[1].as_str(), numbers[4].as_str());

    let trace = format!("{path}/trace");
    let after = |place: &str| format!("{trace}?after={place}");
    for (path, header, seen) in [
        (trace.clone(), None, 0),
        (trace.clone(), Some(second), 2),
        (after(second), None, 2),
        // The header takes precedence, even over a later parameter.
        (after(fifth), Some(second), 2),
        (after(second), Some(fifth), 5),
        // An empty header counts as absent.
        (after(fifth), Some(""), 5),
    ] {
        let headers: Vec<_> = header.map(|id| ("last-event-id", id)).into_iter().collect();
        let detail = world.trace(&path, &headers, numbers.len() - seen).await;
        assert_eq!(detail, numbers[seen..], "{path} {header:?}");
    }
    for (path, header, field, value) in [
        (trace.clone(), Some("x"), "Last-Event-ID", "`x`"),
        // An invalid header is refused, even if the parameter is valid.
        (after(second), Some("-1"), "Last-Event-ID", "`-1`"),
        (after("1.5"), None, "after", "`1.5`"),
    ] {
        let headers: Vec<_> = header.map(|id| ("last-event-id", id)).into_iter().collect();
        let ask = world.request_as(&world.admin, "GET", &path, None, &headers);
        let refused = ask.await;
        let detail = refused.problem(400);
        assert_eq!(refused.json()["field"], field, "{detail}");
        assert!(detail.contains(value), "{detail}");
        assert!(detail.contains("the number of an event"), "{detail}");
    }
}

pub(crate) async fn text_sessions_of_tenant_trace_are_checked(world: &World) {
    let session = world.session().await;
    let refusal = async |query: &str, status| {
        let refused = world.get(&format!("/trace?{query}")).await;
        let detail = refused.problem(status);
        (refused.json()["field"].clone(), detail)
    };
    let (field, detail) = refusal(&"delta=x&".repeat(9), 400).await;
    assert_eq!(field, "delta");
    assert!(
        detail.contains("with 9 sessions: accepted are up to 8"),
        "{detail}"
    );
    let unknown = format!("delta={session}&delta=nowhere");
    let (_, detail) = refusal(&unknown, 404).await;
    assert!(detail.contains("session `nowhere` not found"), "{detail}");
    // A parameter that is no list occurs once.
    let (field, detail) = refusal("after=1&after=2", 400).await;
    assert_eq!(field, "after");
    assert!(
        detail.contains("accepted is one value, not several"),
        "{detail}"
    );
    // The trace of a session has its own text, and refuses the parameter.
    let path = format!("/sessions/{session}/trace?delta={session}");
    let detail = world.get(&path).await.problem(400);
    assert!(detail.contains("unknown field `delta`"), "{detail}");
}
