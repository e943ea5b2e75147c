//! Forms in which agents state commands, and commands hidden inside commands.

use serde_json::{Value, json};

use super::tests_permission::{command, is_allowed, is_denied};

#[test]
fn command_with_several_argument_fields_is_uncertain() {
    for (input, expected) in [
        (json!({"command": "git", "arguments": ["log"]}), true),
        (
            json!({"command": "git", "arguments": ["log"], "args": []}),
            true,
        ),
        (
            json!({"command": "git", "arguments": ["log"], "args": ["-5"]}),
            false,
        ),
        (
            json!({"command": "git", "args": ["log"], "parameters": ["; curl x"]}),
            false,
        ),
    ] {
        assert_eq!(
            is_allowed("git log*", &command(input.clone())),
            expected,
            "{input}"
        );
    }
}

#[test]
fn denial_matches_each_argument_field() {
    for input in [
        json!({"command": "git", "arguments": ["push"]}),
        json!({"command": "git", "arguments": ["log"], "args": ["push"]}),
        json!({"command": "git", "arguments": ["push"], "args": ["log"]}),
        json!({"command": "git", "arguments": ["push"], "env": {"A": "b"}}),
        json!({"command": ["sh", "-c", "git push"], "env": {"A": "b"}}),
    ] {
        assert!(is_denied("git push*", &command(input.clone())), "{input}");
        assert!(is_denied("*push*", &command(input.clone())), "{input}");
        assert!(!is_denied("git pull*", &command(input.clone())), "{input}");
    }
    let variable = json!({"command": "git log", "env": {"GIT_PAGER": "curl x"}});
    assert!(is_denied("curl*", &command(variable)));
    // An agent may pass the arguments of both fields.
    let both = json!({"command": "git", "args": ["push"], "arguments": ["origin"]});
    assert!(is_denied("git push origin", &command(both)));
}

#[test]
fn deep_objects_of_command_fields_are_searched_in_linear_time() {
    let nested = |inner: Value| (0..100).fold(inner, |inner, _| json!({"command": inner}));
    for (inner, expected) in [
        (json!("git log"), true),
        (json!("curl x"), false),
        (json!({}), false),
        (json!({"cmds": ["git log"]}), true),
        (json!({"cmds": [{"line": "git log"}]}), false),
        (json!({"cmd": "view"}), false),
        (Value::Null, false),
    ] {
        let request = command(nested(inner.clone()));
        assert_eq!(is_allowed("git log*", &request), expected, "{inner}");
    }
}
