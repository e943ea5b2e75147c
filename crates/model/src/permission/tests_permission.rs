use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn rule(tool: &str, title: Option<&str>, verdict: Verdict) -> PermissionRule {
    PermissionRule {
        tool: tool.into(),
        title: title.map(Into::into),
        verdict,
    }
}

fn request(tool_kind: &str, title: &str) -> PermissionRequest {
    request_after(&[(tool_kind, title, Value::Null)])
}

/// The request of a call with these reports: kind, title and raw input of each. The last one is the request itself.
fn request_after(reports: &[(&str, &str, Value)]) -> PermissionRequest {
    let mut history = CallHistory::default();
    for (kind, title, input) in reports {
        history.record(
            Some(kind),
            Some(title),
            Some(input).filter(|it| !it.is_null()),
        );
    }
    PermissionRequest {
        tool_kind: history.kind().unwrap().into(),
        title: history.title().unwrap().into(),
        history,
    }
}

pub(super) fn command(input: Value) -> PermissionRequest {
    request_after(&[("execute", "Run a command", input)])
}

pub(super) fn is_allowed(pattern: &str, request: &PermissionRequest) -> bool {
    let allow = PermissionRules(vec![rule("execute", Some(pattern), Verdict::Allow)]);
    let allow_any_kind = PermissionRules(vec![rule("*", Some(pattern), Verdict::Allow)]);
    let verdict = allow.verdict(request);
    assert_eq!(verdict, allow_any_kind.verdict(request));
    verdict == Some(Verdict::Allow)
}

pub(super) fn is_denied(pattern: &str, request: &PermissionRequest) -> bool {
    let rules = PermissionRules(vec![
        rule("*", None, Verdict::Allow),
        rule("execute", Some(pattern), Verdict::Deny),
    ]);
    rules.verdict(request) == Some(Verdict::Deny)
}

#[test]
fn unmatched_request_has_no_verdict() {
    let rules = PermissionRules(vec![rule("read", None, Verdict::Allow)]);
    assert_eq!(rules.verdict(&request("execute", "rm -rf /")), None);
    assert_eq!(
        rules.verdict(&request("read", "notes.md")),
        Some(Verdict::Allow)
    );
}

#[test]
fn adding_a_denial_never_allows_more() {
    let allow = rule("execute", Some("git *"), Verdict::Allow);
    let deny = rule("*", Some("*push*"), Verdict::Deny);
    for rules in [vec![allow.clone(), deny.clone()], vec![deny, allow]] {
        let rules = PermissionRules(rules);
        let verdict = |text: &str| rules.verdict(&command(json!({"command": text})));
        assert_eq!(verdict("git push"), Some(Verdict::Deny));
        assert_eq!(verdict("git log"), Some(Verdict::Allow));
    }
}

#[test]
fn allowed_pattern_holds_for_whole_command() {
    for (text, expected) in [
        ("git log --oneline -5", true),
        ("git  log\t-5", true),
        ("git log --format='%h $x; `y` > z'", true),
        ("git log --grep \"a; b & c | d > e # f\"", true),
        ("git log --grep 'a\nb'", true),
        ("git push", false),
        ("echo git log", false),
        ("git log; curl x | sh", false),
        ("git log | sh", false),
        ("git log & curl x", false),
        ("git log\ncurl x", false),
        ("git log\n", false),
        ("git log\rcurl x", false),
        ("git log < /etc/passwd", false),
        ("git log > ~/.bashrc", false),
        ("git log $(curl x)", false),
        ("git log `curl x`", false),
        ("git log $X", false),
        ("(git log)", false),
        ("git log {a,b}", false),
        ("git log *", false),
        ("git log ?", false),
        ("git log [a]", false),
        ("git log ~", false),
        ("git log # x", false),
        ("git log !x", false),
        ("git log \\; curl x", false),
        ("git log \"$(curl x)\"", false),
        ("git log \"`curl x`\"", false),
        ("git log \"!x\"", false),
        ("git log \"\\\"; curl x\"", false),
        ("git log 'x", false),
        ("git log \"x", false),
        ("git log $'x'", false),
        ("git\u{a0}log", false),
        ("git log\u{2028}curl x", false),
        ("git log\u{200b}", false),
        ("git log\0x", false),
        ("git log 'a\0b'", false),
        ("GIT_PAGER=x git log", false),
        ("PATH+=:x git log", false),
        ("'git log' x", false),
        ("'git' \"log\"", true),
        ("./git log", false),
        ("", false),
        (" ", false),
        ("sh -c 'git log -5'", true),
        ("/bin/bash -lc \"git log -5\"", true),
        ("bash --norc -eu -o pipefail -c 'git log'", true),
        ("bash -c \"sh -c 'git log'\"", true),
        ("bash -lc 'git log; curl x'", false),
        ("bash -c \"sh -c 'git log; curl x'\"", false),
        ("bash --rcfile evil -c 'git log'", false),
        ("./bash -c 'git log'", false),
        ("bash -c", false),
        ("fish -c 'git log'", false),
        ("X=1 bash -c 'git log'", false),
    ] {
        for field in ["command", "cmd", "script", "shell_command"] {
            let request = command(json!({ field: text, "description": "Show; the log" }));
            assert_eq!(
                is_allowed("git log*", &request),
                expected,
                "{field}: {text}"
            );
        }
    }
}

#[test]
fn allowed_pattern_of_any_kind_holds_for_whole_command() {
    for kind in TOOL_KINDS {
        let allow = rule(kind, Some("Show *"), Verdict::Allow);
        let request = request_after(&[(kind, "Show log", json!({ "command": "git log" }))]);
        let is_listed = allow.allows_commands_by_pattern();
        assert!(!allow.covers(&request) && is_listed == ["execute", "other"].contains(&kind));
    }
}

#[test]
fn allowed_pattern_holds_for_every_command_of_input() {
    for (input, expected) in [
        (json!({"command": ["git", "log", "-5"]}), true),
        (json!({"command": ["bash", "-lc", "git log -5"]}), true),
        (json!({"command": ["bash", "-lc", "sh -c 'git log'"]}), true),
        (
            json!({"command": ["bash", "-lc", "git log; curl x"]}),
            false,
        ),
        (json!({"command": ["git", "log", ";", "curl"]}), false),
        (
            json!({"command": ["bash", "-lc", "git log", "; curl x"]}),
            false,
        ),
        (json!({"command": ["git log", "x"]}), false),
        (json!({"command": []}), false),
        (
            json!({"call_id": "1", "command": ["bash", "-lc", "git log"], "cwd": "/x", "parsed_cmd": [{"type": "unknown", "cmd": "git log"}]}),
            true,
        ),
        (
            json!({"command": ["bash", "-lc", "git log"], "parsed_cmd": [{"type": "unknown", "cmd": "curl x"}]}),
            false,
        ),
        (
            json!({"name": "shell", "arguments": {"command": "git log"}}),
            true,
        ),
        (
            json!({"calls": [{"command": "git log"}, {"command": "curl x"}]}),
            false,
        ),
        (json!({"command": "git log", "cmd": "git log"}), true),
        (json!({"command": "git log", "cmd": "curl x"}), false),
        (json!({"commands": ["git log", "git log -5"]}), true),
        (json!({"commands": ["git log", "curl x"]}), false),
        (
            json!({"commands": ["git log", {"command": "curl x"}]}),
            false,
        ),
        (json!({"command": "git", "args": ["log", "-5"]}), true),
        (
            json!({"command": "sh", "args": ["-c", "git log; curl x"]}),
            false,
        ),
        (json!({"command": "git log", "args": ["; curl x"]}), false),
        (json!({"command": "git log", "args": {"x": 1}}), false),
        (
            json!({"command": "git log", "env": {"GIT_PAGER": "sh -c x"}}),
            false,
        ),
        (json!({"command": "git log", "env": {}}), true),
        (json!({"command": 5}), false),
        (json!({"command": ["git", "log", 5]}), false),
        (json!({"command": null}), false),
        (json!({"command": "git log", "cmd": null}), true),
        (json!({"Command": "git log", "CMD": "curl x"}), false),
        (json!({"description": "git log"}), false),
        (json!("git log"), false),
        (json!(["git", "log"]), false),
        (Value::Null, false),
    ] {
        let request = request_after(&[("execute", "git log", input.clone())]);
        assert_eq!(is_allowed("git log*", &request), expected, "{input}");
    }
}

#[test]
fn pattern_is_compared_word_by_word() {
    for (pattern, text, expected) in [
        ("LANG=C git log*", "LANG=C git log", true),
        ("LANG=C git log*", "PAGER=x git log", false),
        ("LANG=* git log*", "LANG=C PAGER=x git log", false),
        ("*", "PAGER=x git log", false),
        ("git commit -m 'fix *'", "git commit -m \"fix this\"", true),
        ("git commit -m 'fix *'", "git commit -m fix this", false),
        ("*", "git log; curl x", false),
        ("*", "bash -c 'git log; curl x'", false),
        ("bash scripts/*", "bash scripts/test", true),
    ] {
        let request = command(json!({"command": text}));
        assert_eq!(is_allowed(pattern, &request), expected);
    }
}

#[test]
fn later_report_of_call_does_not_hide_earlier_one() {
    let run = |input| ("execute", "x", input);
    let harmless = || json!({"command": "git log"});
    let harmful = || json!({"command": "curl x"});
    let titled = ("other", "git log", Value::Null);
    let emptied = ("execute", "git log", json!({}));
    for (reports, expected) in [
        (vec![run(json!({})), run(harmless())], true),
        (vec![run(harmful()), run(harmless())], false),
        (vec![run(harmless()), run(harmful())], false),
        (vec![run(harmless()), emptied], false),
        (vec![run(harmful()), titled.clone()], false),
        (vec![run(Value::Null), titled.clone()], false),
        (vec![("other", "git log", harmful())], false),
        (vec![("other", "curl x", harmless())], true),
        (vec![titled], true),
    ] {
        let allow = PermissionRules(vec![rule("*", Some("git log*"), Verdict::Allow)]);
        let verdict = allow.verdict(&request_after(&reports));
        assert_eq!(verdict == Some(Verdict::Allow), expected, "{reports:?}");
    }
}

#[test]
fn rules_without_command_or_pattern_match_as_before() {
    let input = json!({"path": "notes.md", "command": "view"});
    let reading = request_after(&[("read", "notes.md", input)]);
    let allow_title = PermissionRules(vec![rule("read", Some("*.md"), Verdict::Allow)]);
    assert_eq!(allow_title.verdict(&reading), Some(Verdict::Allow));
    let allow_kind = PermissionRules(vec![rule("execute", None, Verdict::Allow)]);
    for input in [
        Value::Null,
        json!({"command": "a; b"}),
        json!({"command": 5}),
    ] {
        let running = request_after(&[("execute", "x", input)]);
        assert_eq!(allow_kind.verdict(&running), Some(Verdict::Allow));
        assert_eq!(allow_title.verdict(&running), None);
    }
}

#[test]
fn denial_matches_every_command_inside() {
    for (text, pattern) in [
        ("git log; curl x", "*log; curl*"),
        ("curl  x", "curl x"),
        ("git log; curl x", "curl x"),
        ("git log && make || curl x", "curl*"),
        ("git log | curl x", "curl*"),
        ("git log & curl x", "curl*"),
        ("git log\ncurl x", "curl*"),
        ("echo $(curl x)", "curl*"),
        ("echo \"a $(curl x) b\"", "curl*"),
        ("echo \"a `curl x` b\"", "curl*"),
        ("cat <(curl x)", "curl*"),
        ("(cd a; curl x)", "curl*"),
        ("{ curl x; }", "curl*"),
        ("if curl x; then ls; fi", "curl*"),
        ("if ls; then curl x; fi", "curl*"),
        ("! curl x", "curl*"),
        (">log curl x", "curl*"),
        ("A=b C='d e' curl x", "curl*"),
        ("/usr/bin/curl x", "curl*"),
        ("sudo -u root curl x", "curl*"),
        ("env A=b curl x", "curl*"),
        ("ls | xargs -n 1 curl", "curl*"),
        ("eval 'ls; curl x'", "curl*"),
        ("bash -lc 'ls; curl x'", "curl*"),
        ("timeout 5 bash -c 'ls; curl x'", "curl*"),
        ("bash -c \"sh -c 'ls; curl x'\"", "curl*"),
        ("fish -c 'ls; curl x'", "curl*"),
        ("bash --rcfile x -c 'curl x'", "curl*"),
        ("'cu'\"rl\" x", "curl*"),
        ("c\\url x", "curl*"),
        ("cu\\\nrl x", "curl*"),
        ("ls # it's\ncurl x", "curl*"),
        ("cat <<END\nit's\nEND\ncurl x", "curl*"),
        ("ls 'a; curl x", "curl*"),
        ("git commit -m \"a b\"", "git commit -m 'a *'"),
    ] {
        assert!(
            is_denied(pattern, &command(json!({"command": text}))),
            "{text}"
        );
        let words = json!({"command": ["bash", "-lc", text]});
        assert!(is_denied(pattern, &command(words)), "bash -lc {text}");
    }
}

#[test]
fn denial_does_not_match_quoted_text() {
    for text in [
        "git commit -m 'a; curl x'",
        "echo \"a; curl x\"",
        "echo curl x",
    ] {
        assert!(
            !is_denied("curl*", &command(json!({"command": text}))),
            "{text}"
        );
    }
}

#[test]
fn denial_matches_any_kind_title_and_input_of_call() {
    let deny = |tool: &str, title: Option<&str>| {
        let rules = [
            rule("*", None, Verdict::Allow),
            rule(tool, title, Verdict::Deny),
        ];
        PermissionRules(rules.into())
    };
    let run = |input| ("execute", "a", input);
    let titled = |kind, title| (kind, title, Value::Null);
    let execute = || deny("execute", None);
    let rm = || deny("*", Some("rm*"));
    let words = json!({"command": "sh", "args": ["-c", "rm a"]});
    for (rules, reports, expected) in [
        (
            execute(),
            vec![titled("execute", "a"), titled("read", "b")],
            Verdict::Deny,
        ),
        (
            execute(),
            vec![("other", "a", json!({"command": "ls"}))],
            Verdict::Deny,
        ),
        (
            execute(),
            vec![("other", "a", json!({"x": 1}))],
            Verdict::Allow,
        ),
        (
            rm(),
            vec![titled("read", "rm a"), titled("read", "b")],
            Verdict::Deny,
        ),
        (rm(), vec![titled("read", "b")], Verdict::Allow),
        (
            rm(),
            vec![run(json!({"cmd": "rm a"})), run(json!({"cmd": "ls"}))],
            Verdict::Deny,
        ),
        (
            rm(),
            vec![run(json!({"cmd": {"line": ["rm", 5]}}))],
            Verdict::Deny,
        ),
        (
            rm(),
            vec![run(json!({"cmd": ["ls", ["rm a"]]}))],
            Verdict::Deny,
        ),
        (rm(), vec![run(json!("ls; rm a"))], Verdict::Deny),
        (rm(), vec![run(words)], Verdict::Deny),
    ] {
        assert_eq!(
            rules.verdict(&request_after(&reports)),
            Some(expected),
            "{rules:?} {reports:?}"
        );
    }
}

#[test]
fn call_too_large_to_inspect_is_denied_and_not_allowed_by_pattern() {
    let long = format!("git log {}", "x".repeat(200 * 1024));
    let many: Vec<_> = (0..1000)
        .map(|number| format!("git log {number}"))
        .collect();
    let deep = (0..20).fold("git log".to_owned(), |inner, _| {
        format!("sh -c {}", shlex::try_quote(&inner).unwrap())
    });
    let wide = "fish ".repeat(1000);
    for input in [
        json!({"command": long}),
        json!({"commands": many}),
        json!({"command": deep}),
    ] {
        let request = command(input);
        assert!(!is_allowed("git log*", &request));
        assert!(is_denied("never used", &request));
    }
    assert!(!is_allowed("*", &command(json!({"command": wide}))));
    let mut forgotten = command(json!({"command": "git log"}));
    forgotten.history.mark_incomplete();
    assert!(!is_allowed("git log*", &forgotten));
    assert!(is_denied("never used", &forgotten));
}

/// Parts that are likely to confuse a parser of shell commands.
const PARTS: [&str; 38] = [
    "git", "log", "sh", "bash", "-c", "-lc", "curl", "x", " ", " ", " ", "'", "\"", "\\", ";", "|",
    "&", "\n", "<", ">", "$", "`", "(", ")", "{", "}", "*", "?", "[", "]", "~", "#", "!", "=",
    "A=", "\u{a0}", "\0", "<<",
];

fn shell_text() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(&PARTS), 0..24).prop_map(|it| it.concat())
}

/// Returns `true` if the text has a special character outside quotes, or one that is special in double quotes.
fn has_special_character(text: &str) -> bool {
    let mut quote = ' ';
    for character in text.chars() {
        let special = match quote {
            '\'' => "",
            '"' => "$`\\!",
            _ => ";|&\n<>$`(){}*?[]~#!\\\u{a0}\0",
        };
        if special.contains(character) {
            return true;
        }
        quote = match (quote, character) {
            (' ', '\'' | '"') => character,
            (open, character) if open == character => ' ',
            (open, _) => open,
        };
    }
    quote != ' '
}

proptest! {
    #[test]
    fn pattern_never_allows_command_with_special_character(text in shell_text(), quotes in 0..3_usize) {
        prop_assume!(has_special_character(&text));
        // The same inside shells.
        let text = (0..quotes).fold(text.replace('\0', "$"), |inner, _| {
            format!("bash -lc {}", shlex::try_quote(&inner).unwrap())
        });
        for pattern in ["*", "git*", "*log*"] {
            let input = json!({"command": text});
            prop_assert!(!is_allowed(pattern, &command(input)), "{pattern}: {text:?}");
            let words = json!({"command": ["bash", "-lc", text]});
            prop_assert!(!is_allowed(pattern, &command(words)), "{pattern}: {text:?}");
        }
    }

    #[test]
    fn denial_never_allows_more(
        text in shell_text(),
        title in shell_text(),
        allowed in proptest::option::of(shell_text()),
        denied in proptest::option::of(shell_text()),
        tool in proptest::sample::select(&["*", "execute", "read"]),
    ) {
        let allow = rule("*", allowed.as_deref(), Verdict::Allow);
        let deny = rule(tool, denied.as_deref(), Verdict::Deny);
        let request = request_after(&[("execute", &title, json!({"command": text}))]);
        let before = PermissionRules(vec![allow.clone()]).verdict(&request);
        let after = PermissionRules(vec![allow, deny]).verdict(&request);
        prop_assert!(after == before || after == Some(Verdict::Deny), "{before:?} {after:?}");
    }
}
