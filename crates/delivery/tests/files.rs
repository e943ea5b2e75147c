//! Tests of trigger files, beginning with invalid ones.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

use delivery::{
    ContentLimit, InvalidTrigger, MAX_DEPTH, MAX_FILE_BYTES, MAX_VALUES, MalformedContent, Trigger,
    TriggerKind, TriggerName,
};
use proptest::prelude::*;
use serde_json::{Value, json};

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

fn trigger_with(field: &str, value: Value) -> Vec<u8> {
    let mut changed = valid_trigger();
    changed[field] = value;
    changed.to_string().into_bytes()
}

fn parse_error(bytes: &[u8]) -> InvalidTrigger {
    Trigger::parse(bytes).unwrap_err()
}

#[test]
fn trigger_file_error_names_missing_unknown_or_invalid_field() {
    for field in ["timestamp", "task", "type", "sessionMode"] {
        let mut cut = valid_trigger();
        cut.as_object_mut().unwrap().remove(field);
        assert_eq!(
            parse_error(cut.to_string().as_bytes()),
            InvalidTrigger::MissingField(match field {
                "timestamp" => "timestamp",
                "task" => "task",
                "type" => "type",
                _ => "sessionMode",
            })
        );
    }
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
        ("type", json!("webhook"), "cron, message or task"),
        ("sessionMode", json!("eternal"), "expected one of"),
        (
            "schedule",
            json!(null),
            "`schedule` is `null`: expected an ID if the type is cron",
        ),
        ("scheduleName", json!("n".repeat(300)), "at most 200 bytes"),
        ("params", json!([]), "`params` is `[]`: expected an object"),
        (
            "mcpServers",
            json!({}),
            "`mcpServers` is `{}`: expected a list",
        ),
        ("mcpServers", json!(["sh"]), "expected a list of objects"),
        ("mcpServers", json!(vec![json!({}); 65]), "at most 64"),
        ("runId", json!("7"), "`runId` is `\"7\"`"),
        ("token", json!("secret"), "unknown field `token`"),
    ] {
        let error = parse_error(&trigger_with(field, value)).to_string();
        assert!(error.contains(expected), "{error}");
        assert!(error.len() < 500, "{} bytes", error.len());
    }
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
    let params = |levels| trigger_with("params", json!({ "x": deep(levels) }));
    Trigger::parse(&params(MAX_DEPTH - 2)).unwrap();
    assert_eq!(
        parse_error(&params(MAX_DEPTH - 1)),
        too_much(ContentLimit::Depth)
    );
    assert_eq!(
        parse_error("[".repeat(100_000).as_bytes()),
        too_much(ContentLimit::Depth)
    );

    let many = |count| trigger_with("params", json!({ "x": vec![0; count] }));
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
        assert!(is_no_json, "{error}");
    }
    assert_eq!(parse_error(b"[]"), InvalidTrigger::NotAnObject);
}

#[test]
fn trigger_file_round_trips() {
    let read = Trigger::parse(valid_trigger().to_string().as_bytes()).unwrap();
    assert_eq!(read.kind, TriggerKind::Cron);
    assert_eq!(read.run_id.unwrap().to_string(), RUN_ID);
    let written = read.to_json().unwrap();
    assert!(written.ends_with("}\n"));
    assert_eq!(
        serde_json::from_str::<Value>(&written).unwrap(),
        valid_trigger()
    );
    assert_eq!(Trigger::parse(written.as_bytes()).unwrap(), read);
}

#[test]
fn foreign_trigger_file_needs_no_run_id() {
    let text = r#"{"timestamp": "2026-04-30T11:00:00+02:00", "task": "Look", "type": "message",
        "sessionMode": "bound", "schedule": null}"#;
    let read = Trigger::parse(text.as_bytes()).unwrap();
    assert_eq!((read.run_id, read.schedule.as_deref()), (None, None));
    assert_eq!(read.timestamp.to_string(), "2026-04-30T09:00:00Z");
    assert_eq!(
        Trigger::parse(read.to_json().unwrap().as_bytes()).unwrap(),
        read
    );
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
        String::from_utf8_lossy(&bytes).parse::<TriggerName>().ok();
    }
}
