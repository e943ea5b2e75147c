//! The reports in answers, and their schemas.

use serde_json::{Value, json};

use super::{new_task::DEFAULT_PRIORITY, text_limits::*, *};

fn answer(block: &str) -> String {
    format!("Here it is.\n\n```json\n{block}\n```\nThat is all.")
}

fn in_answer(kind: ReportKind, text: &str) -> Result<Option<AnswerReport>, Vec<ReportFault>> {
    report_in_answer(kind, "a", text)
}

#[test]
fn answer_without_exactly_one_block_is_no_report() {
    let block = r#"{"status":"done"}"#;
    let two = format!("{}\n{}", answer(block), answer(block));
    for text in [
        "",
        "done",
        block,
        "```\n{\"status\":\"done\"}\n```",
        "```json\n{\"status\":\"done\"}",
        &two,
    ] {
        assert_eq!(in_answer(ReportKind::Result, text), Ok(None), "{text}");
    }
    let found = in_answer(ReportKind::Result, &answer(block));
    assert!(matches!(found, Ok(Some(_))), "{found:?}");
}

#[test]
fn block_of_other_schema_is_no_report() {
    for block in [
        r#"{"status":"kept"}"#,
        r#"{"status":"done","note":"x"}"#,
        r#"{"verdict":"accept"}"#,
        "[]",
    ] {
        let found = in_answer(ReportKind::Result, &answer(block));
        assert_eq!(found, Ok(None), "{block}");
    }
    let verdict = answer(r#"{"verdict":"later"}"#);
    assert_eq!(in_answer(ReportKind::Verdict, &verdict), Ok(None));
    let task = answer(r#"{"key":"a","title":"A","description":"Do it."}"#);
    assert_eq!(in_answer(ReportKind::Plan, &task), Ok(None));
}

#[test]
fn block_over_limit_is_refused_with_its_field() {
    let refused = |kind, block: Value| {
        let faults = in_answer(kind, &answer(&block.to_string())).unwrap_err();
        let messages: Vec<_> = faults.iter().map(ToString::to_string).collect();
        assert!(messages.iter().all(|it| it.len() < 400), "{messages:?}");
        messages
    };
    let result = json!({ "status": "done", "result": "x".repeat(RESULT_BYTES + 1) });
    let found = refused(ReportKind::Result, result);
    assert!(found[0].starts_with("`result` is `xx"), "{found:?}");
    let finding =
        json!({ "id": "x".repeat(10_000), "text": "x".repeat(1 << 20), "severity": "minor" });
    let verdict = json!({ "verdict": "send_back", "findings": [finding] });
    let found = refused(ReportKind::Verdict, verdict);
    assert!(found[0].starts_with("`findings.id` is `xx"), "{found:?}");
    assert!(found[1].starts_with("`findings.text` is `xx"), "{found:?}");
    let task = |field: &str, value: Value| {
        let mut task = json!({
            "key": "a", "title": "A", "description": "Do it.", "role": "worker",
        });
        task[field] = value;
        refused(ReportKind::Plan, task)
    };
    let long = || json!("x".repeat(10_000));
    for (field, value, message) in [
        ("key", long(), "`key` is `xx"),
        (
            "title",
            long(),
            "`title` of `a` has 10000 bytes; at most 120 ",
        ),
        (
            "title",
            json!(" "),
            "`title` of `a` is ` `; 1 to 120 bytes ",
        ),
        ("role", long(), "`role` of `a` has 10000 bytes; at most 40 "),
        (
            "depends_on",
            json!([long()]),
            "`depends_on` of `a` has 10000 bytes; at most 44 ",
        ),
        (
            "replaces",
            json!([long()]),
            "`replaces` of `a` has 10000 bytes; at most 44 ",
        ),
        (
            "checks",
            json!([long()]),
            "`checks` of `a` has 10000 bytes; at most 40 ",
        ),
        (
            "writes",
            json!([long()]),
            "`writes` of `a` has 10000 bytes; at most 500 ",
        ),
        (
            "acceptance",
            json!([long()]),
            "`acceptance` of `a` has 10000 bytes; at most 500 ",
        ),
        (
            "each",
            json!(vec!["x"; 10_000]),
            "`each` of `a` has 10000 entries; at most 500 ",
        ),
        ("priority", json!(10), "`priority` of `a` is 10; 0 to 9 "),
    ] {
        let found = task(field, value);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(message), "{found:?}");
    }
}

#[test]
fn task_that_is_too_long_with_its_items_is_refused() {
    let task = json!({
        "key": "a", "title": "A", "description": "{item}".repeat(2000), "role": "worker",
        "each": ["x".repeat(ITEM_BYTES)],
    });
    let faults = in_answer(ReportKind::Plan, &answer(&task.to_string())).unwrap_err();
    assert_eq!(
        faults[0].to_string(),
        "`description` of `a` has 400000 bytes; at most 16384 are accepted"
    );
}

#[test]
fn block_with_schema_is_report() {
    let result = answer(
        r#"{"status":"failed","result":"No file.","artifacts":["log"],"follow_up":"Find it."}"#,
    );
    let Ok(Some(AnswerReport::Report(status, body))) = in_answer(ReportKind::Result, &result)
    else {
        panic!("no report");
    };
    assert_eq!(status, ReportStatus::Failed);
    assert_eq!(body.result.as_deref(), Some("No file."));
    assert_eq!(body.artifacts, ["log"]);
    assert_eq!(body.follow_up.as_deref(), Some("Find it."));
    let finding = r#"{"verdict":"send_back","evidence":["read"],
        "findings":[{"id":"a","text":"b","severity":"blocker"}]}"#;
    let Ok(Some(AnswerReport::Report(status, body))) =
        in_answer(ReportKind::Verdict, &answer(finding))
    else {
        panic!("no verdict");
    };
    assert_eq!(status, ReportStatus::SendBack);
    assert_eq!(body.findings[0].severity, Severity::Blocker);
    assert_eq!(body.evidence, ["read"]);
    let accepted = answer(r#"{"verdict":"accept","evidence":["read"]}"#);
    let found = in_answer(ReportKind::Verdict, &accepted);
    assert!(
        matches!(
            found,
            Ok(Some(AnswerReport::Report(ReportStatus::Accept, _)))
        ),
        "{found:?}"
    );
    let task = r#"{"key":"a","title":"A","description":"Do it.","role":"worker","writes":[]}"#;
    let Ok(Some(AnswerReport::Task(task))) = in_answer(ReportKind::Plan, &answer(task)) else {
        panic!("no task");
    };
    assert_eq!(
        (task.priority, task.writes),
        (DEFAULT_PRIORITY, Some(Vec::new()))
    );
}

#[test]
fn each_status_of_schema_is_one_of_report() {
    let schema = report_schema(ReportKind::Result);
    let statuses = &schema["properties"]["status"]["enum"];
    assert_eq!(statuses, &json!(["done", "failed"]));
    // A reminder of an earlier version offers one more.
    for (status, expected) in [
        ("done", ReportStatus::Done),
        ("failed", ReportStatus::Failed),
        ("cancelled", ReportStatus::Failed),
    ] {
        let block = answer(&json!({ "status": status }).to_string());
        let found = in_answer(ReportKind::Result, &block);
        assert!(
            matches!(&found, Ok(Some(AnswerReport::Report(found, _))) if *found == expected),
            "{status}: {found:?}"
        );
    }
}

#[test]
fn blank_text_of_block_is_none() {
    let block = answer(r#"{"status":"done","result":" ","follow_up":""}"#);
    let found = in_answer(ReportKind::Result, &block);
    let body = ReportBody::default();
    let expected = AnswerReport::Report(ReportStatus::Done, body);
    assert_eq!(found, Ok(Some(expected)));
}

#[test]
fn block_about_other_task_is_refused() {
    let report = |task: &str| {
        let block = json!({ "status": "done", "task": task });
        in_answer(ReportKind::Result, &answer(&block.to_string()))
    };
    assert!(matches!(report("a"), Ok(Some(_))));
    let faults = report("b").unwrap_err();
    let message = "`task` is `b`, and the task of this turn is `a`";
    assert_eq!(faults[0].to_string(), message);
    let long = report(&"b".repeat(10_000)).unwrap_err();
    assert!(long[0].to_string().len() < 400, "{long:?}");
}

#[test]
fn schema_is_closed_and_describes_each_property() {
    let verdict = report_schema(ReportKind::Verdict);
    let finding = verdict["properties"]["findings"]["items"].clone();
    assert_eq!(finding["required"], json!(["id", "text", "severity"]));
    let schemas = [ReportKind::Plan, ReportKind::Result].map(report_schema);
    for schema in schemas.into_iter().chain([verdict, finding]) {
        assert_eq!(schema["additionalProperties"], false);
        let properties = schema["properties"].as_object().unwrap();
        for (name, property) in properties {
            assert!(property["description"].is_string(), "{name}");
            assert!(property["type"].is_string(), "{name}");
        }
        for required in schema["required"].as_array().unwrap() {
            assert!(properties.contains_key(required.as_str().unwrap()));
        }
    }
}

#[test]
fn each_kind_of_report_has_its_tool() {
    let kinds = [ReportKind::Plan, ReportKind::Result, ReportKind::Verdict];
    let tools = kinds.map(ReportKind::tool);
    assert_eq!(tools, ["create_task", "update_task", "judge_task"]);
}
