//! Commands with redirections and brackets between their words.

use serde_json::json;

use super::tests_permission::{command, is_denied};

fn denies(pattern: &str, text: &str) -> bool {
    is_denied(pattern, &command(json!({"command": text})))
}

#[test]
fn denial_sees_words_behind_redirection() {
    for text in [
        "cd r && git push >log --force",
        "cd r && git push 2>log --force",
        "cd r && git push >log 2>&1 --force",
        "cd r && git push >& log --force",
        "cd r && git push >|log --force",
        "cd r && git push &>log --force",
        "cd r && git push &>>log --force",
        "cd r && git push >\"my log\" --force",
        "cd r && git push >$(date).log --force",
        "cd r && git push >\"`date`\" --force",
        "cd r && git push <<<word --force",
        "cd r && git push <<END --force\na\nEND",
        "cd r && git push < <(a) --force",
        "cd r && git push \\\n  >log \\\n  --force",
        "cd r && git >log push 2>&1 --force",
        "cd r && >log git push 2>&1 --force",
        "cd r && A=\"$(b)/c\" >log git push 2>&1 --force",
        "cd r && sudo >log git push 2>&1 --force",
        "cd r && xargs <a git push >log --force",
        "if git push >log --force; then ls; fi",
        "case x in x) git push >log --force;; esac",
        "{ git push >log --force; }",
        "(cd r; git push >log --force)",
        "echo \"$(cd r; git push >log --force)\"",
        "bash -c 'cd r; git push >log --force'",
    ] {
        assert!(denies("git push --force", text), "{text}");
    }
    for text in [
        "cd r && git push >log; ls --force",
        "cd r && git push >log && ls --force",
        "cd r && git push 2>&1 | cat --force",
        "cd r && git push >log & ls --force",
        "cd r && git push >log\nls --force",
        "(cd r; git push >log) && ls --force",
        "cd r && git push >--force",
        "echo 'git push >log --force'",
        "ls; if ls; then echo >log 2>&1 'git push --force'; fi",
    ] {
        assert!(!denies("git push*--force", text), "{text}");
    }
}

#[test]
fn denial_sees_script_behind_redirection() {
    for text in [
        "bash >/dev/null -c 'ls; curl x'",
        "cd /; bash >/dev/null -c 'ls; curl x'",
        "cd /; bash 2>&1 -c 'ls; curl x'",
        "cd /; bash -c >/dev/null 'ls; curl x'",
        "cd /; sudo bash <a -ec >b 'ls; curl x'",
        "cd /; su root >a -c 'ls; curl x'",
        "cd /; eval >a 'ls; curl x'",
        "cd /; trap >a 'ls; curl x' EXIT",
    ] {
        assert!(denies("curl x", text), "{text}");
    }
    for text in [
        "cd /; echo >a -c 'ls; curl x'",
        "cd /; git commit -m >a 'ls; curl x'",
    ] {
        assert!(!denies("curl x", text), "{text}");
    }
}

#[test]
fn number_of_descriptor_is_no_argument() {
    for (text, expected) in [
        ("ls; git log -n 2>a", true),
        ("ls; git log -n 2 >a", false),
        ("ls; git log -n '2'>a", false),
        ("ls; git log -n2>a", false),
    ] {
        assert_eq!(denies("git log -n", text), expected, "{text}");
    }
}

#[test]
fn denial_sees_words_behind_curly_bracket() {
    for text in [
        "cd r && git push origin {a,b} --force",
        "cd r && git push \"$a\"{b,c} --force",
        "cd r && git push {a}>log --force",
        "cd r && git push $(a) >log {b,c} --force",
        "cd r && find . -exec git push {} --force \\;",
    ] {
        assert!(denies("git push*--force*", text), "{text}");
    }
    for text in [
        "{ git push; } && ls --force",
        "f() { git push; }; f --force",
        "ls; { if git push; then ls --force; fi; }",
    ] {
        assert!(!denies("git push*--force*", text), "{text}");
    }
}

#[test]
fn denial_sees_command_behind_index_with_blanks() {
    for text in [
        "a[1 + 2]=1 curl x",
        "ls; a[1 + 2]=1 b[i + 1]+=1 c=2 curl x",
        "ls; a[$i + 1]=1 >log curl x",
    ] {
        assert!(denies("curl x", text), "{text}");
    }
    for text in [
        "a[1 + 2] curl x",
        "[ a = b ]= curl x",
        "a[1] b=c d]=1 curl x",
    ] {
        assert!(!denies("curl x", text), "{text}");
    }
}
