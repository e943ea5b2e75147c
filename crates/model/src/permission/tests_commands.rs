//! Forms in which agents state commands, and commands hidden inside commands.

use serde_json::{Value, json};

use super::tests_permission::{command, is_allowed, is_denied};
use super::tool_input::find_commands;

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
fn copies_of_arguments_are_counted_before_they_are_made() {
    let many = vec!["git"; 20_000];
    let fields = (0..5000).map(|number| (format!("{number}_command"), json!("git")));
    let mut object: serde_json::Map<_, _> = fields.collect();
    object.insert("args".into(), json!(["x".repeat(64 << 10)]));
    for input in [
        json!({"commands": many, "args": ["x".repeat(64 << 10)]}),
        json!({"commands": many, "args": vec![1; 10_000]}),
        Value::Object(object),
    ] {
        assert_eq!(find_commands(&input), None);
        let request = command(input);
        assert!(!is_allowed("*", &request));
        assert!(is_denied("never used", &request));
    }
    // Neither many commands nor long arguments alone are too large.
    for input in [
        json!({ "commands": many }),
        json!({"commands": many, "args": ["log"]}),
        json!({"commands": ["git", "git"], "args": ["x".repeat(64 << 10)]}),
    ] {
        let request = command(input);
        assert!(is_allowed("git*", &request));
        assert!(!is_denied("curl*", &request));
    }
}

#[test]
fn arguments_without_command_are_not_measured() {
    // The measurement counts, so measuring at each depth would reach the limit.
    let nested = |inner: Value| (0..120).fold(inner, |inner, _| json!({"args": inner}));
    let values = vec![0; 40_000];
    assert_eq!(
        find_commands(&nested(json!({"args": values}))),
        Some(vec![])
    );
    let with_command = json!({"command": "git log", "args": values});
    assert_eq!(
        find_commands(&nested(with_command)).map(|it| it.len()),
        Some(1)
    );
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

#[test]
fn command_with_unknown_field_is_uncertain() {
    for (input, expected) in [
        // The forms of known agents.
        (
            json!({"command": "git log", "description": "Show; the log", "timeout": 5, "run_in_background": true,
                "dangerouslyDisableSandbox": false}),
            true,
        ),
        (
            json!({"call_id": "1", "turn_id": "2", "command": ["git", "log"], "cwd": "/x", "reason": "why; x",
                "proposed_execpolicy_amendment": ["git", "log"],
                "available_decisions": ["approved", {"approved_execpolicy_amendment":
                    {"proposed_execpolicy_amendment": ["git", "log"]}}, "abort"],
                "parsed_cmd": [{"type": "read", "cmd": "git log", "name": "x", "path": "/x"}]}),
            true,
        ),
        (
            json!({"command": "git log", "workdir": "/x", "timeoutMs": 5}),
            true,
        ),
        (json!({"calls": [{"command": "git log"}], "id": 1}), true),
        (json!([{"command": "git log"}]), true),
        (
            json!({"commands": ["git log", {"command": "git log"}]}),
            true,
        ),
        (json!({"command": "git", "command_args": ["log"]}), true),
        // Values without a meaning.
        (
            json!({"command": "git log", "x": null, "y": "", "z": [], "env": {}}),
            true,
        ),
        (json!({"command": "git log", "sandbox": true}), false),
        (json!({"command": "git log", "x": 1}), false),
        // Variables.
        (
            json!({"command": "git log", "env_vars": {"GIT_PAGER": "curl"}}),
            false,
        ),
        (
            json!({"command": "git log", "environment_vars": ["GIT_PAGER=curl"]}),
            false,
        ),
        // A variable may have the name of a harmless field, and another one that of a command.
        (
            json!({"command": "git log", "env": {"PATH": "/x", "PROMPT_COMMAND": "git log"}}),
            false,
        ),
        (
            json!({"env": {"PATH": "/x", "PROMPT_COMMAND": "git log"}, "input": {"command": "git log"}}),
            false,
        ),
        (
            json!({"command": "git log", "x": {"PATH": "/x", "PROMPT_COMMAND": "git log"}}),
            false,
        ),
        (
            json!({"command": "git log", "started_at_ms": 1, "server": "x"}),
            true,
        ),
        (
            json!({"command": "git log", "variables": {"GIT_PAGER": "curl"}}),
            false,
        ),
        (
            json!({"command": "git log", "options": {"env": {"GIT_PAGER": "curl"}}}),
            false,
        ),
        (
            json!({"env": {"GIT_PAGER": "curl"}, "input": {"command": "git log"}}),
            false,
        ),
        (json!({"input": {"command": "git log"}}), true),
        (json!({"command": "git log", "cwd": {"env": "curl"}}), false),
        // Arguments.
        (
            json!({"command": "git log", "command_args": ["; curl"]}),
            false,
        ),
        (
            json!({"command": "git log", "extra_args": ["; curl"]}),
            false,
        ),
        (json!({"command": "git log", "params": ["; curl"]}), false),
        (json!({"command": "git log", "options": ["; curl"]}), false),
        (
            json!({"input": {"command": "git log"}, "args": ["; curl"]}),
            false,
        ),
        // Inputs and other programs.
        (json!({"command": "git log", "stdin": "curl x"}), false),
        (json!({"command": "git log", "shell": "/tmp/x"}), false),
        (json!({"command": "git log", "run": "curl x"}), false),
        (json!({"command": "git log", "bash": "curl x"}), false),
        (json!({"command": "git log", "code": "curl x"}), false),
        (json!(["curl x", {"command": "git log"}]), false),
        (json!({"calls": [{"command": "git log"}, "curl x"]}), false),
    ] {
        assert_eq!(
            is_allowed("git log*", &command(input.clone())),
            expected,
            "{input}"
        );
    }
}

#[test]
fn denial_matches_text_of_unknown_field() {
    for input in [
        json!({"command": "sh", "stdin": "ls; curl x"}),
        json!({"command": "git log", "env_vars": {"GIT_PAGER": "curl x"}}),
        json!({"input": {"command": "git log"}, "run": ["curl x"]}),
        json!({"command": "curl", "extra_args": ["x"]}),
    ] {
        assert!(is_denied("curl*", &command(input.clone())), "{input}");
        assert!(!is_denied("wget*", &command(input.clone())), "{input}");
    }
    for input in [
        json!({"command": "git log", "description": "curl x"}),
        json!({"stdin": "curl x"}),
    ] {
        assert!(!is_denied("curl*", &command(input.clone())), "{input}");
    }
}

#[test]
fn shell_that_reads_its_standard_input_is_uncertain() {
    for (text, expected) in [
        ("sh -c 'git log'", true),
        ("sh -ec 'git log'", true),
        ("sh --login --posix -c 'git log'", true),
        ("sh -sc 'git log'", false),
        ("sh -cs 'git log'", false),
        ("sh -s -c 'git log'", false),
        ("sh -ic 'git log'", false),
        ("sh +s -c 'git log'", false),
        ("sh -so pipefail -c 'git log'", false),
    ] {
        let request = command(json!({"command": text}));
        assert_eq!(is_allowed("git log*", &request), expected, "{text}");
        assert!(is_denied("git log*", &request), "{text}");
    }
}

#[test]
fn denial_sees_command_behind_redirection() {
    for text in [
        "2>&1 curl x",
        "2>& 1 curl x",
        ">&2 curl x",
        "2>&- curl x",
        "<&3 curl x",
        ">|f curl x",
        "2>>f 1>&2 curl x",
        "&>f curl x",
        "<>f curl x",
        "<<<word curl x",
        "2>&1 A=b curl x",
        "if 2>&1 curl x; then ls; fi",
        "ls; >&2 sudo curl x",
        "ls; sudo >&2 curl x",
        "ls; a='b c' d=1 2>&1 curl x",
        "ls; >f 2>&1 curl x",
        "ls; sudo -u root >&2 curl x",
        "ls; sudo 2>&1 -u root >&2 curl x",
        "ls; /usr/bin/sudo 2>&1 curl x",
        "cd a && timeout 60s 2>&1 curl x",
        "ls; env -i 2>&1 curl x",
        "case x in (a) 2>&1 curl x;; esac",
    ] {
        let request = command(json!({"command": text}));
        assert!(is_denied("curl x*", &request), "{text}");
    }
    for text in [
        "ls 2>&1 | a curl x",
        "ls >&2 && a curl x",
        "ls & a curl x",
        "ls | a curl x",
        "ls |& a curl x",
        "ls >f || a curl x",
        "echo '2>&1 curl x'",
        "echo >&2 'curl x'",
        "echo a 1>&2 'curl x'",
        "echo >f 2>&1 'a; curl x'",
        "ls; if ! ls; then echo >&2 'curl x'; fi",
        "echo \"error: $(date)\" >&2 'curl x'",
    ] {
        let request = command(json!({"command": text}));
        assert!(!is_denied("curl x*", &request), "{text}");
    }
}

#[test]
fn denial_sees_command_behind_substitution() {
    for text in [
        "cd r && GIT_SSH_COMMAND=\"ssh -i $(pwd)/key\" curl x",
        "cd x && PATH=\"$(npm bin):$PATH\" curl x",
        "cd x && A=$(y)z curl x",
        "cd x && A=$(y a)z curl x",
        "cd x && A=`y a`z curl x",
        "cd x && A=\"`y a`/z\" curl x",
        "cd x && PATH=${HOME}/bin:$PATH curl x",
        "cd x && A=${B:-$(c d)/e}/f curl x",
        "cd x && env A=\"$(y)/z\" curl x",
        "cd x && timeout $(y)s curl x",
        "(cd x; A=\"$(y)/z\" curl x)",
        "echo \"$(cd x; A=\"$(y)/z\" curl x)\"",
        "ls; A=$(y)z 2>&1 curl x",
        "ls; >\"$(date).log\" curl x",
        "ls; >\"$(date).log\" 2>&1 curl x",
        "ls; A=${l%%(*}z curl x",
        "n=\"$(echo ${l%%(*})\"; ls; curl x; echo \"})\"",
        "echo \"$(echo $${)\"; curl x; echo \"})\"",
        "echo $$#; curl x",
        "echo \"$(case x in x) ls; curl x;; esac)\"",
        "ls; >`echo f`#d curl x",
    ] {
        assert!(
            is_denied("curl x*", &command(json!({"command": text}))),
            "{text}"
        );
    }
    for text in [
        "echo \"$(date): curl x\"",
        "echo \"`date`: curl x\"",
        "echo \"a ${b}\" \"$(c) d; curl x\"",
        "git commit -m \"$(date); curl x\"",
    ] {
        assert!(
            !is_denied("curl x*", &command(json!({"command": text}))),
            "{text}"
        );
    }
}

#[test]
fn denial_sees_command_behind_element_of_array() {
    for text in [
        "a[0]=1 curl x",
        "a+=1 curl x",
        "a[0]+=1 curl x",
        "a[$i]=1 curl x",
        "a['b c']=1 curl x",
        "a[b=1]=1 c=2 curl x",
        "a[$(b)]=1 curl x",
        "ls; a[$(b)]=1 curl x",
        "ls; a[${b}]+=1 curl x",
        "2>&1 a[0]=1 curl x",
    ] {
        let request = command(json!({"command": text}));
        assert!(is_denied("curl x*", &request), "{text}");
    }
    for text in [
        "git log a[0]=1 curl x",
        "a[0] curl x",
        "a[0=1 curl x",
        "[0]=1 curl x",
        "0a[0]=1 curl x",
        "a-b[0]=1 curl x",
    ] {
        let request = command(json!({"command": text}));
        assert!(!is_denied("curl x*", &request), "{text}");
    }
}

#[test]
fn denial_sees_command_behind_program_that_starts_it() {
    for text in [
        "su -c 'curl x'",
        "su root -c 'ls; curl x'",
        "su - user -c 'curl x'",
        "su '-ccurl x'",
        "su -lc 'curl x' root",
        "su --command='curl x'",
        "su --comm 'curl x'",
        "su --session-command='curl x'",
        "/bin/su -c 'curl x'",
        "sudo su -c 'ls; curl x'",
        "su -c \"su -c 'curl x'\"",
        "runuser -u u -- curl x",
        "runuser u -c 'ls; curl x'",
        "trap 'curl x' EXIT",
        "trap -- 'ls; curl x' EXIT",
        "ls; trap 'ls; curl x' INT TERM",
        "script -c 'curl x' f",
        "script -qec 'ls; curl x' /dev/null",
        "script -q /dev/null curl x",
        "flock f curl x",
        "flock f -c 'ls; curl x'",
        "flock -n 9 && curl x",
        "taskset 1 curl x",
        "taskset -c 0-3 curl x",
        "chrt 1 curl x",
        "strace -f curl x",
        "setsid curl x",
        "if ls; then eval 'ls; curl x'; fi",
        "sudo flock f su -c 'ls; curl x'",
        "watch -n 2 'ls; curl x'",
        "watch -n 2 'A=b curl x'",
        "sudo watch 'sudo curl x'",
        "parallel ::: 'ls; curl x'",
        "parallel -j2 'cd {}; curl x' ::: a",
    ] {
        let request = command(json!({"command": text}));
        assert!(is_denied("curl x*", &request), "{text}");
    }
    let words = json!({"command": ["su", "-c", "ls; curl x"]});
    assert!(is_denied("curl x*", &command(words)));
}

#[test]
fn denial_does_not_look_into_arguments_and_other_machines() {
    for text in [
        "echo su -c 'curl x'",
        "man su -c 'curl x'",
        "su -s 'curl x'",
        "su user 'curl x'",
        "trap - EXIT 'curl x'",
        "echo trap 'curl x'",
        "echo watch 'ls; curl x'",
        "git commit -m 'trap; curl x'",
        "sudo git commit -m 'a; curl x'",
        "strace -c 'ls; curl x'",
        "docker run a curl x",
        "podman run a curl x",
        "kubectl exec a -- curl x",
        "ssh h curl x",
        "ssh h 'ls; curl x'",
        "systemd-run --user curl x",
    ] {
        let request = command(json!({"command": text}));
        assert!(!is_denied("curl x*", &request), "{text}");
    }
    assert!(!is_denied(
        "rm*",
        &command(json!({"command": "docker rm x"}))
    ));
}

#[test]
fn long_ordinary_command_is_allowed_and_not_denied() {
    let prose = "The script sees su -c, trap and flock behind 2>&1, also a[0]=1 curl x.\n";
    let arguments: Vec<_> = (0..200).map(|number| format!("name_{number}")).collect();
    for (text, allowed) in [
        (
            format!("git commit -m '{}'", prose.repeat(120)),
            "git commit -m *",
        ),
        (
            format!("cargo test {}", arguments.join(" ")),
            "cargo test *",
        ),
    ] {
        let request = command(json!({"command": text}));
        assert!(is_allowed(allowed, &request), "{allowed}");
        assert!(!is_denied("curl*", &request), "{allowed}");
    }
    let document = format!("cat >f <<'END'\n{}END\n", prose.repeat(450));
    let request = command(json!({"command": document}));
    assert!(!is_denied("wget*", &request));
    assert!(is_denied("cat*", &request));
    // The script in a list of words is searched alone and behind `bash -lc`.
    let lines: Vec<_> = (0..450)
        .map(|at| format!("let a_{at} = b_{at}(c, &d); // it's one\n"))
        .collect();
    let source = format!("cat > f <<'EOF'\n{}EOF\n", lines.concat());
    let request = command(json!({"command": ["bash", "-lc", source]}));
    assert!(!is_denied("wget*", &request));
    assert!(is_denied("cat*", &request));
}
