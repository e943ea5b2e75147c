use proptest::prelude::*;
use rstest::rstest;
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

fn command(input: Value) -> PermissionRequest {
    request_after(&[("execute", "Run a command", input)])
}

fn is_allowed(pattern: &str, request: &PermissionRequest) -> bool {
    let allow = PermissionRules(vec![rule("execute", Some(pattern), Verdict::Allow)]);
    let allow_any_kind = PermissionRules(vec![rule("*", Some(pattern), Verdict::Allow)]);
    let verdict = allow.verdict(request);
    assert_eq!(verdict, allow_any_kind.verdict(request));
    verdict == Some(Verdict::Allow)
}

fn is_denied(pattern: &str, request: &PermissionRequest) -> bool {
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

#[rstest]
#[case::whole("git log --oneline -5", true)]
#[case::blanks("git  log\t-5", true)]
#[case::single_quotes("git log --format='%h $x; `y` > z'", true)]
#[case::double_quotes("git log --grep \"a; b & c | d > e # f\"", true)]
#[case::newline_in_quotes("git log --grep 'a\nb'", true)]
#[case::other_program("git push", false)]
#[case::prefix("echo git log", false)]
#[case::sequence("git log; curl x | sh", false)]
#[case::pipe("git log | sh", false)]
#[case::background("git log & curl x", false)]
#[case::newline("git log\ncurl x", false)]
#[case::last_newline("git log\n", false)]
#[case::carriage_return("git log\rcurl x", false)]
#[case::input("git log < /etc/passwd", false)]
#[case::output("git log > ~/.bashrc", false)]
#[case::substitution("git log $(curl x)", false)]
#[case::backticks("git log `curl x`", false)]
#[case::variable("git log $X", false)]
#[case::subshell("(git log)", false)]
#[case::group("git log {a,b}", false)]
#[case::star("git log *", false)]
#[case::question_mark("git log ?", false)]
#[case::bracket("git log [a]", false)]
#[case::home("git log ~", false)]
#[case::comment("git log # x", false)]
#[case::history("git log !x", false)]
#[case::escape("git log \\; curl x", false)]
#[case::substitution_in_double_quotes("git log \"$(curl x)\"", false)]
#[case::backticks_in_double_quotes("git log \"`curl x`\"", false)]
#[case::history_in_double_quotes("git log \"!x\"", false)]
#[case::escape_in_double_quotes("git log \"\\\"; curl x\"", false)]
#[case::open_single_quote("git log 'x", false)]
#[case::open_double_quote("git log \"x", false)]
#[case::ansi_quotes("git log $'x'", false)]
#[case::no_break_space("git\u{a0}log", false)]
#[case::line_separator("git log\u{2028}curl x", false)]
#[case::zero_width_space("git log\u{200b}", false)]
#[case::null("git log\0x", false)]
#[case::quoted_null("git log 'a\0b'", false)]
#[case::variable_in_front("GIT_PAGER=x git log", false)]
#[case::appended_variable_in_front("PATH+=:x git log", false)]
#[case::one_word("'git log' x", false)]
#[case::quoted_program("'git' \"log\"", true)]
#[case::program_in_folder("./git log", false)]
#[case::nothing("", false)]
#[case::blank(" ", false)]
#[case::shell("sh -c 'git log -5'", true)]
#[case::login_shell("/bin/bash -lc \"git log -5\"", true)]
#[case::shell_with_options("bash --norc -eu -o pipefail -c 'git log'", true)]
#[case::nested_shells("bash -c \"sh -c 'git log'\"", true)]
#[case::shell_with_sequence("bash -lc 'git log; curl x'", false)]
#[case::nested_sequence("bash -c \"sh -c 'git log; curl x'\"", false)]
#[case::shell_with_file("bash --rcfile evil -c 'git log'", false)]
#[case::shell_of_agent("./bash -c 'git log'", false)]
#[case::shell_without_script("bash -c", false)]
#[case::other_shell("fish -c 'git log'", false)]
#[case::shell_behind_variable("X=1 bash -c 'git log'", false)]
fn allowed_pattern_holds_for_whole_command(#[case] text: &str, #[case] expected: bool) {
    for field in ["command", "cmd", "script", "shell_command"] {
        let request = command(json!({ field: text, "description": "Show; the log" }));
        assert_eq!(
            is_allowed("git log*", &request),
            expected,
            "{field}: {text}"
        );
    }
}

#[rstest]
#[case::words(json!({"command": ["git", "log", "-5"]}), true)]
#[case::shell(json!({"command": ["bash", "-lc", "git log -5"]}), true)]
#[case::nested(json!({"command": ["bash", "-lc", "sh -c 'git log'"]}), true)]
#[case::shell_with_sequence(json!({"command": ["bash", "-lc", "git log; curl x"]}), false)]
#[case::words_that_a_shell_may_join(json!({"command": ["git", "log", ";", "curl"]}), false)]
#[case::script_and_more(json!({"command": ["bash", "-lc", "git log", "; curl x"]}), false)]
#[case::one_word(json!({"command": ["git log", "x"]}), false)]
#[case::empty(json!({"command": []}), false)]
#[case::codex(json!({"call_id": "1", "command": ["bash", "-lc", "git log"], "cwd": "/x", "parsed_cmd": [{"type": "unknown", "cmd": "git log"}]}), true)]
#[case::nested_difference(json!({"command": ["bash", "-lc", "git log"], "parsed_cmd": [{"type": "unknown", "cmd": "curl x"}]}), false)]
#[case::inside_object(json!({"name": "shell", "arguments": {"command": "git log"}}), true)]
#[case::inside_list(json!({"calls": [{"command": "git log"}, {"command": "curl x"}]}), false)]
#[case::equal_fields(json!({"command": "git log", "cmd": "git log"}), true)]
#[case::different_fields(json!({"command": "git log", "cmd": "curl x"}), false)]
#[case::several(json!({"commands": ["git log", "git log -5"]}), true)]
#[case::one_of_several(json!({"commands": ["git log", "curl x"]}), false)]
#[case::one_of_several_objects(json!({"commands": ["git log", {"command": "curl x"}]}), false)]
#[case::arguments(json!({"command": "git", "args": ["log", "-5"]}), true)]
#[case::arguments_of_shell(json!({"command": "sh", "args": ["-c", "git log; curl x"]}), false)]
#[case::arguments_of_line(json!({"command": "git log", "args": ["; curl x"]}), false)]
#[case::unknown_arguments(json!({"command": "git log", "args": {"x": 1}}), false)]
#[case::variables(json!({"command": "git log", "env": {"GIT_PAGER": "sh -c x"}}), false)]
#[case::no_variables(json!({"command": "git log", "env": {}}), true)]
#[case::number(json!({"command": 5}), false)]
#[case::list_with_number(json!({"command": ["git", "log", 5]}), false)]
#[case::null(json!({"command": null}), false)]
#[case::null_beside(json!({"command": "git log", "cmd": null}), true)]
#[case::other_case(json!({"Command": "git log", "CMD": "curl x"}), false)]
#[case::no_field(json!({"description": "git log"}), false)]
#[case::text(json!("git log"), false)]
#[case::list(json!(["git", "log"]), false)]
#[case::missing(Value::Null, false)]
fn allowed_pattern_holds_for_every_command_of_input(#[case] input: Value, #[case] expected: bool) {
    let request = request_after(&[("execute", "git log", input.clone())]);
    assert_eq!(is_allowed("git log*", &request), expected, "{input}");
}

#[rstest]
#[case::same("LANG=C git log*", "LANG=C git log", true)]
#[case::other("LANG=C git log*", "PAGER=x git log", false)]
#[case::added("LANG=* git log*", "LANG=C PAGER=x git log", false)]
#[case::everything("*", "PAGER=x git log", false)]
#[case::quotes("git commit -m 'fix *'", "git commit -m \"fix this\"", true)]
#[case::more_words("git commit -m 'fix *'", "git commit -m fix this", false)]
#[case::star_alone("*", "git log; curl x", false)]
#[case::shell("*", "bash -c 'git log; curl x'", false)]
#[case::script_file("bash scripts/*", "bash scripts/test", true)]
fn pattern_is_compared_word_by_word(
    #[case] pattern: &str,
    #[case] text: &str,
    #[case] expected: bool,
) {
    let request = command(json!({"command": text}));
    assert_eq!(is_allowed(pattern, &request), expected);
}

#[test]
fn later_report_of_call_does_not_hide_earlier_one() {
    let harmless = || json!({"command": "git log"});
    let harmful = || json!({"command": "curl x"});
    for (reports, expected) in [
        (
            vec![("execute", "x", json!({})), ("execute", "x", harmless())],
            true,
        ),
        (
            vec![("execute", "x", harmful()), ("execute", "x", harmless())],
            false,
        ),
        (
            vec![("execute", "x", harmless()), ("execute", "x", harmful())],
            false,
        ),
        (
            vec![
                ("execute", "x", harmless()),
                ("execute", "git log", json!({})),
            ],
            false,
        ),
        (
            vec![
                ("execute", "x", harmful()),
                ("other", "git log", Value::Null),
            ],
            false,
        ),
        (
            vec![
                ("execute", "x", Value::Null),
                ("other", "git log", Value::Null),
            ],
            false,
        ),
        (vec![("other", "git log", harmful())], false),
        (vec![("other", "curl x", harmless())], true),
        (vec![("other", "git log", Value::Null)], true),
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

#[rstest]
#[case::whole_text("git log; curl x", "*log; curl*")]
#[case::simple("curl  x", "curl x")]
#[case::second("git log; curl x", "curl x")]
#[case::third("git log && make || curl x", "curl*")]
#[case::pipe("git log | curl x", "curl*")]
#[case::background("git log & curl x", "curl*")]
#[case::next_line("git log\ncurl x", "curl*")]
#[case::substitution("echo $(curl x)", "curl*")]
#[case::quoted_substitution("echo \"a $(curl x) b\"", "curl*")]
#[case::quoted_backticks("echo \"a `curl x` b\"", "curl*")]
#[case::process_substitution("cat <(curl x)", "curl*")]
#[case::subshell("(cd a; curl x)", "curl*")]
#[case::group("{ curl x; }", "curl*")]
#[case::condition("if curl x; then ls; fi", "curl*")]
#[case::branch("if ls; then curl x; fi", "curl*")]
#[case::negation("! curl x", "curl*")]
#[case::redirection_in_front(">log curl x", "curl*")]
#[case::variable_in_front("A=b C='d e' curl x", "curl*")]
#[case::folder("/usr/bin/curl x", "curl*")]
#[case::sudo("sudo -u root curl x", "curl*")]
#[case::env("env A=b curl x", "curl*")]
#[case::xargs("ls | xargs -n 1 curl", "curl*")]
#[case::eval("eval 'ls; curl x'", "curl*")]
#[case::shell("bash -lc 'ls; curl x'", "curl*")]
#[case::shell_of_program("timeout 5 bash -c 'ls; curl x'", "curl*")]
#[case::nested("bash -c \"sh -c 'ls; curl x'\"", "curl*")]
#[case::other_shell("fish -c 'ls; curl x'", "curl*")]
#[case::uncertain_shell("bash --rcfile x -c 'curl x'", "curl*")]
#[case::quoted_program("'cu'\"rl\" x", "curl*")]
#[case::escaped_program("c\\url x", "curl*")]
#[case::continued_line("cu\\\nrl x", "curl*")]
#[case::behind_comment("ls # it's\ncurl x", "curl*")]
#[case::behind_document("cat <<END\nit's\nEND\ncurl x", "curl*")]
#[case::open_quote("ls 'a; curl x", "curl*")]
#[case::pattern_with_quotes("git commit -m \"a b\"", "git commit -m 'a *'")]
fn denial_matches_every_command_inside(#[case] text: &str, #[case] pattern: &str) {
    assert!(
        is_denied(pattern, &command(json!({"command": text}))),
        "{text}"
    );
    let words = json!({"command": ["bash", "-lc", text]});
    assert!(is_denied(pattern, &command(words)), "bash -lc {text}");
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
    for (rules, reports, expected) in [
        (
            deny("execute", None),
            vec![("execute", "a", Value::Null), ("read", "b", Value::Null)],
            Verdict::Deny,
        ),
        (
            deny("execute", None),
            vec![("other", "a", json!({"command": "ls"}))],
            Verdict::Deny,
        ),
        (
            deny("execute", None),
            vec![("other", "a", json!({"x": 1}))],
            Verdict::Allow,
        ),
        (
            deny("*", Some("rm*")),
            vec![("read", "rm a", Value::Null), ("read", "b", Value::Null)],
            Verdict::Deny,
        ),
        (
            deny("*", Some("rm*")),
            vec![("read", "b", Value::Null)],
            Verdict::Allow,
        ),
        (
            deny("*", Some("rm*")),
            vec![
                ("execute", "a", json!({"cmd": "rm a"})),
                ("execute", "b", json!({"cmd": "ls"})),
            ],
            Verdict::Deny,
        ),
        (
            deny("*", Some("rm*")),
            vec![("execute", "a", json!({"cmd": {"line": ["rm", 5]}}))],
            Verdict::Deny,
        ),
        (
            deny("*", Some("rm*")),
            vec![("execute", "a", json!({"cmd": ["ls", ["rm a"]]}))],
            Verdict::Deny,
        ),
        (
            deny("*", Some("rm*")),
            vec![("execute", "a", json!("ls; rm a"))],
            Verdict::Deny,
        ),
        (
            deny("*", Some("rm*")),
            vec![(
                "execute",
                "a",
                json!({"command": "sh", "args": ["-c", "rm a"]}),
            )],
            Verdict::Deny,
        ),
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
