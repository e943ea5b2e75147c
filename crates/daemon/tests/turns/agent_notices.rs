//! Notices and compactions of agents in the transcript.

use model::{
    run::RunStatus,
    turn::{EntryKind, Role},
};
use serde_json::{Value, json};
use testkit::scripted::Step;

use crate::world::World;

fn compaction(id: &str, status: &str, more: Value) -> Step {
    let mut update =
        json!({"sessionUpdate": "compaction_update", "compactionId": id, "status": status});
    if let (Some(update), Value::Object(more)) = (update.as_object_mut(), more) {
        update.extend(more);
    }
    Step::Update(update)
}

fn usage(used: u64) -> Step {
    Step::Update(json!({"sessionUpdate": "usage_update", "used": used, "size": 1000}))
}

pub(crate) async fn notices_and_compactions_are_rows_of_transcript(world: &World) {
    let chunk = |text: &str| {
        Step::Update(
            json!({"sessionUpdate": "compaction_summary_chunk", "compactionId": "a",
            "content": {"type": "text", "text": text}}),
        )
    };
    let notice = |severity: &str, title: &str, description: Option<&str>| {
        Step::Update(
            json!({"sessionUpdate": "notice", "severity": severity, "title": title,
            "description": description}),
        )
    };
    let script = world.script().prompt([
        usage(900),
        Step::text("Žluť."),
        notice("warning", "Slow model", Some("Answers may take long.")),
        notice("_later", "Hm", None),
        compaction("a", "in_progress", json!({})),
        chunk("They "),
        chunk("talked."),
        compaction("a", "completed", json!({})),
        usage(100),
        usage(150),
        compaction("b", "failed", json!({"error": "no room"})),
        compaction("c", "in_progress", json!({})),
        Step::text("Done."),
    ]);
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    let run = world.send_and_take_turn(session, "Go").await;
    assert_eq!(run.status(), RunStatus::Succeeded, "{run:#?}");

    let transcript = world.transcript(session).await;
    let rows: Vec<_> = transcript
        .iter()
        .filter(|row| row.kind == EntryKind::Notice)
        .collect();
    let texts: Vec<_> = rows.iter().map(|row| row.content.as_str()).collect();
    assert_eq!(
        texts,
        [
            "Slow model\nAnswers may take long.",
            "Hm",
            "The agent compacted its context from 900 to 100 tokens.",
            "The agent could not compact its context: no room",
            "The agent was compacting its context when the turn ended.",
        ]
    );
    assert!(rows.iter().all(|row| row.role == Role::Assistant));
    let position = json!("Žluť.".len());
    assert!(
        rows.iter()
            .all(|row| row.metadata["answer_position"] == position)
    );
    let facts = |row: usize, names: &[&str]| -> Vec<Value> {
        let facts = names.iter();
        facts.map(|name| rows[row].metadata[name].clone()).collect()
    };
    assert_eq!(facts(0, &["notice", "severity"]), ["agent", "warning"]);
    assert_eq!(facts(1, &["notice", "severity"]), ["agent", "info"]);
    assert_eq!(
        facts(2, &["notice", "status", "summary"]),
        ["compaction", "completed", "They talked."]
    );
    assert!(!rows[2].metadata["ended_at"].is_null());
    // The failed compaction has changed nothing, and the last one has not ended.
    assert_eq!(
        facts(3, &["tokens_before", "tokens_after"]),
        [json!(150), Value::Null]
    );
    assert_eq!(
        facts(4, &["status", "ended_at"]),
        [json!("in_progress"), Value::Null]
    );
    let answer = transcript.last().unwrap();
    assert_eq!(answer.content, "Žluť.\n\nDone.");
}

pub(crate) async fn endless_notices_and_compactions_are_bounded(world: &World) {
    let long = "x".repeat(200_000);
    let mut steps = vec![
        Step::Update(
            json!({"sessionUpdate": "notice", "severity": "error", "title": long,
            "description": long}),
        ),
        compaction(
            "a",
            "completed",
            json!({"summary": [{"type": "text", "text": long}]}),
        ),
        compaction("a", "failed", json!({"error": long})),
    ];
    for number in 0..200 {
        steps.push(compaction(&format!("c{number}"), "completed", json!({})));
    }
    steps.push(Step::text("done"));
    let agent = world.agent(&world.script().prompt(steps)).await;
    let session = world.session(agent).await;
    let run = world.send_and_take_turn(session, "Go").await;
    assert_eq!(run.status(), RunStatus::Succeeded, "{run:#?}");

    let transcript = world.transcript(session).await;
    let rows: Vec<_> = transcript
        .iter()
        .filter(|row| row.kind == EntryKind::Notice)
        .collect();
    // One notice and 100 compactions.
    assert_eq!(rows.len(), 101);
    let size = |row: usize| rows[row].content.len() + rows[row].metadata.to_string().len();
    assert!(size(0) < 20_000, "{}", size(0));
    assert!(size(1) < 80_000, "{}", size(1));
}
