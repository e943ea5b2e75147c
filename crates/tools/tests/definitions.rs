//! The definitions of the tools, as agents see them, against the stored ones.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::{fs, path::PathBuf};

use model::{
    permission::{TEAM_TOOL_NAMES, TOOL_NAMES},
    tools::ToolAccess,
};
use serde_json::{Value, json};

/// The longest list of tools, in bytes. Models read it at each turn.
const MAX_BYTES: usize = 10 * 1024;

/// Returns the tools in a session with several seats.
fn definitions(access: ToolAccess) -> Value {
    serde_json::to_value(tools::definitions(access, true)).unwrap()
}

#[test]
fn definitions_equal_stored_ones() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/definitions.json");
    let defined = json!({
        "all": definitions(ToolAccess::All),
        "read": definitions(ToolAccess::Read),
    });
    let text = format!("{}\n", serde_json::to_string_pretty(&defined).unwrap());
    if option_env!("MATINS_UPDATE").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        text == stored,
        "run this test with MATINS_UPDATE=1, and look at the difference of {}",
        path.display()
    );
}

#[test]
fn definitions_fit_every_agent() {
    let all = definitions(ToolAccess::All);
    assert!(all.to_string().len() <= MAX_BYTES);
    let names: Vec<_> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| &tool["name"])
        .collect();
    assert_eq!(names, TOOL_NAMES);
    assert_eq!(definitions(ToolAccess::None), json!([]));
    for tool in all.as_array().unwrap() {
        let input = &tool["inputSchema"];
        // Some agents refuse these (google-gemini/gemini-cli#13326).
        for word in ["$ref", "oneOf", "anyOf", "allOf"] {
            assert!(!input.to_string().contains(word), "{word}");
        }
        assert_eq!(input["additionalProperties"], false);
        for (name, property) in input["properties"].as_object().unwrap() {
            assert!(property["description"].is_string(), "{name}");
            assert!(property["type"].is_string(), "{name}: one type");
        }
        let hints = &tool["annotations"];
        assert_eq!(
            (&hints["destructiveHint"], &hints["openWorldHint"]),
            (&json!(false), &json!(false))
        );
    }
}

#[test]
fn agent_that_may_only_read_sees_read_only_tools() {
    for tool in definitions(ToolAccess::Read).as_array().unwrap() {
        assert_eq!(
            tool["annotations"]["readOnlyHint"], true,
            "{}",
            tool["name"]
        );
    }
}

#[test]
fn agent_without_other_seats_gets_no_messages() {
    let alone = serde_json::to_value(tools::definitions(ToolAccess::All, false)).unwrap();
    let names: Vec<_> = alone
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    let mut expected = TOOL_NAMES.to_vec();
    expected.retain(|name| !TEAM_TOOL_NAMES.contains(name));
    assert_eq!(names, expected);
}
