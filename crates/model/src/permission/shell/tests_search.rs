//! The commands that a search finds, and its work, by its own counters and not by a clock.

use super::*;

/// Searches a text. Returns the counted work, and `None` beside it if the search ended at a limit.
fn search(text: &str) -> (usize, Option<()>) {
    let mut search = CommandSearch::default();
    let end = search.search_text(text);
    // A command is added twice if its program has a folder.
    assert!(search.found.len() <= MAX_COMMANDS + 1);
    // The last command or text may exceed the limit.
    assert!(search.bytes <= MAX_COMMAND_BYTES + text.len() + 1);
    assert!(search.read <= MAX_COMMAND_BYTES + text.len() + 1);
    assert!(search.texts <= MAX_COMMANDS + 1);
    let work = search.bytes + search.read + search.texts + search.found.len();
    (work, end)
}

#[test]
fn work_is_linear_in_repetitions() {
    for part in [
        "su -c ",
        "su -c 'su -c ' ",
        "sudo su -c a;",
        "su -c eval\n",
        "script -qc ",
        "flock ",
        "trap ",
        "eval ",
        "2>&1 ",
        "a[0]=",
        "a[0]=1 ",
        "a[",
        "sh -c ",
        "sh -o ",
        "fish ",
        "fish '#' ",
        "; ",
        "watch ",
        "watch a;",
        "parallel 'watch ' ",
        "sudo -u a >&2 ",
        "A=$(b)c ",
        "sudo $(b)c;",
        "\"$(a)\" ",
        "a $(b ",
        "${",
        "`a`b ",
        "a)",
        "$'",
        "${(",
        "\\\n",
        "esac ",
        "a >b ",
        "a 2>b;",
        "{a}",
        "a {b} >c ",
        "$(a >b ",
        "<(a) ",
        "a &>b ",
        "a[1 + 2]=1 ",
        "a[ ]=1 >b ",
        "sh >a -c 'sh >b -c c' ",
        "sudo >a sh -c b ",
        "eval >a ",
    ] {
        let [small, large] =
            [16_usize, 64].map(|kib| search(&part.repeat((kib << 10) / part.len())).0);
        assert!(large <= 5 * small, "{part}: {small} {large}");
    }
}

#[test]
fn work_of_texts_inside_texts_is_limited() {
    for (front, back) in [
        ("su -c ", ""),
        ("ls; su -c ", " >f"),
        ("ls; sh >f -c ", " 2>&1"),
    ] {
        let mut text = "curl x".to_owned();
        let mut depth = 0;
        while text.len() < 64 << 10 {
            text = format!("{front}'{}'{back}", text.replace('\'', "'\\''"));
            depth += 1;
            let (work, end) = search(&text);
            assert_eq!(end.is_some(), depth <= MAX_NESTED_SHELLS, "{front}{depth}");
            assert!(work <= 16 * text.len(), "{front}{depth}: {work}");
        }
        assert!(depth > MAX_NESTED_SHELLS);
    }
}

#[test]
fn long_ordinary_command_stays_within_limits() {
    let prose = "The script sees su -c, trap and flock behind 2>&1, also a[0]=1 curl x.\n";
    let arguments: Vec<_> = (0..200).map(|number| format!("name_{number}")).collect();
    let document = format!("cat >f <<'END'\n{}END\n", prose.repeat(450));
    let commit = format!("git commit -m '{}'", prose.repeat(120));
    let test = format!("cargo test {}", arguments.join(" "));
    for text in [document, commit, test] {
        let (work, end) = search(&text);
        assert_eq!(end, Some(()), "{}", &text[..20]);
        assert!(work <= 16 * text.len(), "{}: {work}", &text[..20]);
    }
}

/// `true` if a search finds `curl x`.
fn finds_curl(text: &str) -> bool {
    let mut search = CommandSearch::default();
    search.search_text(text).unwrap();
    let mut found = search.found.iter();
    found.any(|words| matches!(&words[..], [a, b, ..] if a == "curl" && b.starts_with('x')))
}

#[test]
fn command_on_continued_line_and_behind_comment_is_found() {
    for text in [
        "cd / && \\\n  curl x",
        "A=b \\\n  curl x",
        "2>&1 \\\n  curl x",
        "ls; A=$(pwd)z \\\n  B=c curl x",
        "ls; curl \\\n  x",
        "echo \u{a0}#; curl x",
        "echo a\r#b; curl x",
        "ls &#'\nls; curl x\n#'",
        "(#'\nls; curl x\n#'\n)",
        "echo $'\\''; curl x # '",
        "echo $'\\''; curl x; echo \\'",
        "cd /; bash ${z} -c 'ls; curl x'",
    ] {
        assert!(finds_curl(text), "{text}");
    }
    for text in ["ls # 'a'\n", "ls # it's; curl x", "echo $$; echo 'curl x'"] {
        assert!(!finds_curl(text), "{text}");
    }
}
