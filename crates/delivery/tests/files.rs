//! Tests of trigger files, beginning with invalid ones.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

use std::collections::BTreeSet;

use delivery::{
    ContentLimit, ForeignTrigger, InvalidTrigger, MAX_DEPTH, MAX_FILE_BYTES, MAX_VALUES,
    MalformedContent, RunTrigger, Trigger, TriggerKind, TriggerName, TriggerRequest,
};
use model::policy::SessionMode;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const RUN_ID: &str = "run_0198c0de00007000800000000000000a";

fn valid_trigger() -> Value {
    json!({
        "schedule": "aut_0198c0de00007000800000000000000b",
        "scheduleName": "daily monitor",
        "timestamp": "2026-04-30T09:00:00Z",
        "task": "Check the logs",
        "type": "cron",
        "sessionMode": "continuous",
        "params": {"region": "eu", "deep": [1, 2.5, null, true]},
        "mcpServers": [{"name": "files"}],
        "runId": RUN_ID,
    })
}

fn parse_error(bytes: &[u8]) -> InvalidTrigger {
    Trigger::parse(bytes).unwrap_err()
}

/// Returns a content without a run ID, with one field changed.
fn foreign_with(field: &str, value: Value) -> Vec<u8> {
    let mut changed = valid_trigger();
    changed.as_object_mut().unwrap().remove("runId");
    changed[field] = value;
    changed.to_string().into_bytes()
}

fn parse_foreign(content: &Value) -> ForeignTrigger {
    match Trigger::parse(content.to_string().as_bytes()).unwrap() {
        Trigger {
            request: TriggerRequest::Automation(read),
            unknown_fields,
        } if unknown_fields.is_empty() => read,
        other => panic!("{other:?}"),
    }
}

#[test]
fn foreign_file_without_automation_is_refused() {
    for content in [
        json!({}),
        json!({"task": "Look", "type": "message", "schedule": null}),
        json!({"schedule": "", "scheduleName": " "}),
        json!({"timestamp": "2026-04-30T09:00:00Z", "runId": null}),
    ] {
        let error = parse_error(content.to_string().as_bytes());
        assert_eq!(error, InvalidTrigger::NoAutomation, "{content}");
        for field in ["`runId`", "`schedule`", "`scheduleName`"] {
            assert!(error.to_string().contains(field), "{error}");
        }
    }
}

#[test]
fn foreign_file_error_names_field_value_and_accepted_values() {
    for (field, value, expected) in [
        (
            "timestamp",
            json!("yesterday"),
            "`timestamp` is `\"yesterday\"`",
        ),
        (
            "timestamp",
            json!(1),
            "`timestamp` is `1`: expected a string",
        ),
        ("task", json!("x".repeat(1 << 21)), "at most 1048576 bytes"),
        ("type", json!("webhook"), "cron, rrule, message or task"),
        ("sessionMode", json!("eternal"), "expected one of"),
        ("schedule", json!(7), "`schedule` is `7`: expected a string"),
        ("scheduleName", json!("n".repeat(300)), "at most 200 bytes"),
        ("params", json!([]), "`params` is `[]`: expected an object"),
        (
            "mcpServers",
            json!("sh"),
            "`mcpServers` is `\"sh\"`: expected a list or an object",
        ),
        ("mcpServers", json!(vec![json!({}); 65]), "at most 64"),
        ("runId", json!("7"), "`runId` is `\"7\"`"),
        ("runId", json!(7), "`runId` is `7`: expected a string"),
    ] {
        let error = parse_error(&foreign_with(field, value)).to_string();
        assert!(error.contains(expected), "{error}");
        assert!(error.len() < 500, "{} bytes", error.len());
    }
    let many: Map<String, Value> = (0..65).map(|n| (n.to_string(), json!({}))).collect();
    let error = parse_error(&foreign_with("mcpServers", many.into())).to_string();
    assert!(error.contains("`65`: expected at most 64"), "{error}");
}

#[test]
fn foreign_file_needs_only_an_automation() {
    let minimal = json!({
        "schedule": "daily monitor",
        "timestamp": "2026-04-30T11:00:00.000+02:00",
        "params": {"region": "eu"},
    });
    let read = parse_foreign(&minimal);
    assert_eq!(read.automation, "daily monitor");
    assert_eq!(read.timestamp.unwrap().to_string(), "2026-04-30T09:00:00Z");
    assert_eq!(read.params["region"], "eu");
    assert_eq!(
        (read.task, read.kind, read.session_mode),
        (None, None, None)
    );
    // The ID precedes the name, and nulls count as absent.
    let by_name = json!({"scheduleName": "daily monitor", "schedule": null, "params": null,
        "task": null, "mcpServers": null, "type": null, "sessionMode": null, "timestamp": null});
    assert_eq!(parse_foreign(&by_name).automation, "daily monitor");
    let by_both = json!({"scheduleName": "daily monitor", "schedule": "aut_1"});
    assert_eq!(parse_foreign(&by_both).automation, "aut_1");
}

#[test]
fn foreign_file_of_each_type_and_mode_is_accepted() {
    for (word, kind) in [
        ("cron", TriggerKind::Cron),
        ("rrule", TriggerKind::Rrule),
        ("message", TriggerKind::Message),
        ("task", TriggerKind::Task),
    ] {
        let read = parse_foreign(&json!({"schedule": "a", "type": word}));
        assert_eq!(read.kind, Some(kind));
    }
    for mode in SessionMode::ALL {
        let read = parse_foreign(&json!({"schedule": "a", "sessionMode": mode}));
        assert_eq!(read.session_mode, Some(*mode));
    }
}

#[test]
fn mcp_servers_are_counted_as_list_and_as_object() {
    for (servers, count) in [
        (json!([]), 0),
        (json!({}), 0),
        (json!([{"name": "files", "command": "sh"}, "other"]), 2),
        (json!({"files": {"command": "sh"}, "web": {"url": "x"}}), 2),
        (json!(vec![json!({}); 64]), 64),
    ] {
        let read = parse_foreign(&json!({"schedule": "a", "mcpServers": servers}));
        assert_eq!(read.mcp_server_count, count);
    }
}

#[test]
fn unknown_fields_are_kept_and_listed() {
    for run in [json!(null), json!(RUN_ID)] {
        let content =
            json!({"schedule": "a", "priority": {"level": 3}, "version": "2", "runId": run});
        let read = Trigger::parse(content.to_string().as_bytes()).unwrap();
        let names: BTreeSet<_> = read.unknown_fields.keys().map(String::as_str).collect();
        assert_eq!(names, BTreeSet::from(["priority", "version"]));
        assert_eq!(read.unknown_fields["priority"]["level"], 3);
    }
}

#[test]
fn run_id_makes_all_other_fields_meaningless() {
    let content = json!({"runId": RUN_ID, "type": "heartbeat", "timestamp": 7, "task": [],
        "params": "none", "mcpServers": "sh", "sessionMode": "eternal", "schedule": {}});
    for content in [content, json!({"runId": RUN_ID}), valid_trigger()] {
        let read = Trigger::parse(content.to_string().as_bytes()).unwrap();
        let expected = TriggerRequest::Run(RUN_ID.parse().unwrap());
        assert_eq!(read.request, expected);
        assert!(read.unknown_fields.is_empty(), "{read:?}");
    }
}

#[test]
fn idempotency_key_depends_on_name_and_content() {
    let key = Trigger::idempotency_key(b"a.json", b"{}");
    assert_eq!(key, Trigger::idempotency_key(b"a.json", b"{}"));
    for (name, content) in [
        (&b"b.json"[..], &b"{}"[..]),
        (b"a.json", b"{ }"),
        (b"a", b".json{}"),
    ] {
        assert_ne!(key, Trigger::idempotency_key(name, content));
    }
    let is_accepted = |letter: char| letter.is_ascii_graphic();
    assert!(key.len() <= 255 && key.chars().all(is_accepted), "{key}");
}

#[test]
fn trigger_file_with_duplicate_field_is_refused() {
    let text = valid_trigger().to_string();
    let twice = text.replacen('{', "{\"task\":\"Do harm\",", 1);
    let doubled =
        |name: &str| InvalidTrigger::Malformed(MalformedContent::DuplicateField(name.into()));
    assert_eq!(parse_error(twice.as_bytes()), doubled("task"));
    let inner = text.replace("\"region\":\"eu\"", "\"region\":\"eu\",\"region\":\"us\"");
    assert_eq!(parse_error(inner.as_bytes()), doubled("region"));
}

#[test]
fn trigger_file_beyond_a_limit_is_refused_with_that_limit() {
    let too_much = |limit| InvalidTrigger::Malformed(MalformedContent::LimitExceeded(limit));
    let deep = |levels: usize| -> Value {
        let text = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        serde_json::from_str(&text).unwrap()
    };
    // The document and the parameters are two of the levels.
    let params = |levels| foreign_with("params", json!({ "x": deep(levels) }));
    Trigger::parse(&params(MAX_DEPTH - 2)).unwrap();
    assert_eq!(
        parse_error(&params(MAX_DEPTH - 1)),
        too_much(ContentLimit::Depth)
    );
    assert_eq!(
        parse_error("[".repeat(100_000).as_bytes()),
        too_much(ContentLimit::Depth)
    );

    let many = |count| foreign_with("params", json!({ "x": vec![0; count] }));
    Trigger::parse(&many(MAX_VALUES - 100)).unwrap();
    assert_eq!(
        parse_error(&many(MAX_VALUES)),
        too_much(ContentLimit::Values)
    );

    let mut long = valid_trigger().to_string().into_bytes();
    long.resize(MAX_FILE_BYTES, b' ');
    Trigger::parse(&long).unwrap();
    long.push(b' ');
    assert_eq!(parse_error(&long), too_much(ContentLimit::Bytes));
}

#[test]
fn trigger_file_without_valid_json_is_refused() {
    for bytes in [
        &b""[..],
        b"{",
        b"\xff\xfe",
        b"{} {}",
        b"{'task': 1}",
        b"{\"params\": {\"x\": 1e999}}",
    ] {
        let error = parse_error(bytes);
        let is_no_json = matches!(
            error,
            InvalidTrigger::Malformed(MalformedContent::NotJson(_))
        );
        assert!(is_no_json && error.may_be_incomplete(), "{error}");
    }
    for bytes in [&b"[]"[..], b"{}", b"{\"schedule\": 1}"] {
        assert!(!parse_error(bytes).may_be_incomplete());
    }
    assert_eq!(parse_error(b"[]"), InvalidTrigger::NotAnObject);
}

#[test]
fn file_of_the_server_holds_every_field_and_delivers_its_run() {
    let run = RUN_ID.parse().unwrap();
    let at = "2026-04-30T09:00:00Z".parse().unwrap();
    let task = || "Check the logs".to_owned();
    let mut scheduled =
        RunTrigger::new(run, TriggerKind::Cron, at, task(), SessionMode::Continuous).of_automation(
            "aut_0198c0de00007000800000000000000b".parse().unwrap(),
            "daily monitor".into(),
        );
    let params = valid_trigger()["params"].as_object().cloned().unwrap();
    scheduled.params = params;
    let written = scheduled.to_json().unwrap();
    assert!(written.ends_with("}\n"));
    let mut expected = valid_trigger();
    expected["mcpServers"] = json!([]);
    assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), expected);

    let message = RunTrigger::new(run, TriggerKind::Message, at, task(), SessionMode::Bound);
    let message_text = message.to_json().unwrap();
    let fields: Value = serde_json::from_str(&message_text).unwrap();
    assert_eq!(fields["schedule"], json!(null));
    for written in [written, message_text] {
        let read = Trigger::parse(written.as_bytes()).unwrap();
        assert_eq!(read.request, TriggerRequest::Run(run));
        assert!(read.unknown_fields.is_empty(), "{read:?}");
    }
}

#[test]
fn largest_task_of_the_server_fits_into_a_file() {
    let task = "\u{1}".repeat(model::limits::CONTENT_BYTES);
    let at = "2026-04-30T09:00:00Z".parse().unwrap();
    let run = RUN_ID.parse().unwrap();
    let file = RunTrigger::new(run, TriggerKind::Task, at, task, SessionMode::Fresh);
    let written = file.to_json().unwrap();
    assert!(Trigger::parse(written.as_bytes()).is_ok());
}

#[test]
fn trigger_file_name_has_one_accepted_form() {
    let name = format!("20260430T090000.000000Z-{RUN_ID}.json");
    let read: TriggerName = name.parse().unwrap();
    assert_eq!(read.at().to_string(), "2026-04-30T09:00:00Z");
    assert_eq!(read.run().to_string(), RUN_ID);
    assert_eq!(read.to_string(), name);
    for bad in [
        String::new(),
        ".json".into(),
        RUN_ID.into(),
        name.replace(".json", ".json.tmp"),
        name.replace(".json", ".JSON"),
        name.replace(".000000Z", "Z"),
        name.replace(".000000Z", ".000Z"),
        name.replace("20260430", "20260431"),
        name.replace("T09", "T24"),
        name.replace("run_", ""),
        name.replace("000a.", "000A."),
        format!("../{name}"),
        format!(" {name}"),
    ] {
        assert!(bad.parse::<TriggerName>().is_err(), "{bad:?}");
    }
}

proptest! {
    #[test]
    fn trigger_file_names_sort_by_time_and_round_trip(
        first in 0_i64..4_000_000_000_000_000, later in 1_i64..1_000_000_000_000,
    ) {
        let run = RUN_ID.parse().unwrap();
        let name = |micros| {
            let at = model::Timestamp::from_microsecond(micros).unwrap();
            TriggerName::new(at, run).unwrap()
        };
        let (earlier, later) = (name(first), name(first + later));
        prop_assert!(earlier.to_string() < later.to_string());
        prop_assert_eq!(earlier.to_string().parse::<TriggerName>().unwrap(), earlier);
    }

    #[test]
    fn trigger_parser_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        Trigger::parse(&bytes).ok();
        Trigger::idempotency_key(&bytes, &bytes);
        String::from_utf8_lossy(&bytes).parse::<TriggerName>().ok();
    }
}
