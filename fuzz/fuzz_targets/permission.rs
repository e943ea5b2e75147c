//! Decides permission requests for commands. An input has two lines: a pattern, and a command.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::permission::{
    CallHistory, PermissionRequest, PermissionRule, PermissionRules, Verdict,
};
use serde_json::json;

fuzz_target!(|text: &str| {
    let Some((pattern, command)) = text.split_once('\n') else {
        return;
    };
    let rule = |verdict| PermissionRule {
        tool: "execute".into(),
        title: Some(pattern.into()),
        verdict,
    };
    for input in [
        json!({ "command": command }),
        json!({ "command": ["bash", "-lc", command] }),
    ] {
        let mut history = CallHistory::default();
        history.record(Some("execute"), Some("x"), Some(&input));
        let request = PermissionRequest {
            tool_kind: "execute".into(),
            title: "x".into(),
            history,
        };
        let allowed = PermissionRules(vec![rule(Verdict::Allow)]).verdict(&request);
        let both = PermissionRules(vec![rule(Verdict::Allow), rule(Verdict::Deny)]);
        assert_ne!(both.verdict(&request), Some(Verdict::Allow), "{text:?}");
        if allowed.is_some() && !command.contains(['\'', '"']) {
            assert!(!command.contains([';', '|', '&', '\n', '<', '>', '$', '`']), "{text:?}");
        }
    }
});
