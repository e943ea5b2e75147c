//! The texts of rules.

use super::*;

#[test]
fn permission_rule_is_kind_with_optional_title() {
    for (text, tool, title) in [
        ("edit", "edit", None),
        ("*", "*", None),
        ("execute:git log: *", "execute", Some("git log: *")),
    ] {
        for verdict in [Verdict::Allow, Verdict::Deny] {
            let rule = PermissionRule {
                tool: tool.to_owned(),
                title: title.map(str::to_owned),
                verdict,
            };
            assert_eq!(rule.to_string(), text);
            assert_eq!(PermissionRule::parse(text, verdict), Ok(rule));
        }
    }
}

#[test]
fn invalid_rule_is_refused() {
    let refused = |text: &str| PermissionRule::parse(text, Verdict::Allow).unwrap_err();
    for text in ["", ":title", "edit:"] {
        assert_eq!(refused(text), InvalidRule::EmptyPart, "{text}");
    }
    assert_eq!(
        refused("edti").to_string(),
        "unknown tool kind `edti`: expected one of read, edit, delete, move, search, execute, think, fetch, \
         switch_mode, other, or a pattern with *"
    );
    let hostile = refused(&format!("\u{1b}[2J{}", "x".repeat(1000))).to_string();
    assert!(
        !hostile.contains('\u{1b}') && hostile.len() < 300,
        "{hostile}"
    );
}
