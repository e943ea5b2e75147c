//! Sections of docs/guide.md, whose commands run as a reader copies them.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::test_installation::{MATINS_PROGRAM, TestInstallation};

/// A code block of a page.
struct Block {
    language: String,
    lines: Vec<String>,
}

/// Returns the code blocks of a section.
fn blocks(page: &str, section: &str) -> Vec<Block> {
    let heading = format!("## {section}");
    let lines = page.lines().skip_while(|line| *line != heading).skip(1);
    let lines = lines.take_while(|line| !line.starts_with("## "));
    let (mut blocks, mut open) = (Vec::new(), None::<Block>);
    for line in lines {
        match (line.strip_prefix("```"), &mut open) {
            (Some(language), None) => {
                open = Some(Block {
                    language: language.into(),
                    lines: Vec::new(),
                });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some(block)) => block.lines.push(line.into()),
            (None, None) => {}
        }
    }
    blocks
}

/// Returns the text before the first character that is not a digit, and the rest. Returns `None` if there is no digit.
fn split_number(text: &str) -> Option<(&str, &str)> {
    let rest = text.trim_start_matches(|it: char| it.is_ascii_digit());
    let number = &text[..text.len() - rest.len()];
    (!number.is_empty()).then_some((number, rest))
}

/// Returns the rest after a count such as `2 of 3`, with which a text begins.
fn after_count(text: &str) -> Option<&str> {
    let (_, rest) = split_number(text)?;
    let (_, rest) = split_number(rest.strip_prefix(" of ")?)?;
    Some(rest)
}

/// Returns the number of bytes at the beginning of a text whose digits each run prints: a round such as `round 2 of 3`, a
/// count of tasks such as `4 of 5 tasks`, or an exit code.
fn lasting_bytes(text: &str) -> usize {
    let round = || after_count(text.strip_prefix("round ")?);
    let tasks = || after_count(text)?.strip_prefix(" tasks");
    let code = || Some(split_number(text.strip_prefix("exit code ")?)?.1);
    let rest = round().or_else(tasks).or_else(code);
    rest.map_or(0, |rest| text.len() - rest.len())
}

/// Returns a text with `0` in place of each digit, `x` in place of the rest of each ID, and one space in place of several,
/// because instants, IDs, numbers of words and widths of columns are others in each run. Keeps the digits of
/// [`lasting_bytes`], so that a wrong number in the guide fails.
fn normalized(text: &str) -> String {
    let mut normalized = String::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let mut prefixes = ["ses_", "que_"].into_iter();
        if let Some(prefix) = prefixes.find(|prefix| rest.starts_with(prefix)) {
            normalized.push_str(prefix);
            normalized.push('x');
            rest = rest[prefix.len()..].trim_start_matches(|it: char| it.is_ascii_hexdigit());
            continue;
        }
        let (lasting, after) = rest.split_at(lasting_bytes(rest));
        if !lasting.is_empty() {
            normalized.push_str(lasting);
            rest = after;
            continue;
        }
        match letter {
            '0'..='9' => normalized.push('0'),
            ' ' if normalized.ends_with(' ') => {}
            _ => normalized.push(letter),
        }
        rest = &rest[letter.len_utf8()..];
    }
    normalized
}

/// Returns a line that each run prints: a line without a time, or the end of a task or of the goal without its time. Returns
/// `None` for other steps, because the next step can follow before the goal is read again.
fn lasting(line: &str) -> Option<&str> {
    match line.strip_prefix("00:00:00 ") {
        None => Some(line),
        Some(step) => ["FAILED ", "The goal is paused", "The goal is done"]
            .iter()
            .any(|end| step.starts_with(end))
            .then_some(step),
    }
}

/// Runs the commands of a section in one shell, as a person of Prague.
///
/// Returns the output, and the lines that the section shows.
fn run_section(world: &TestInstallation, section: &str) -> (String, Vec<String>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/guide.md")).unwrap();
    let blocks = blocks(&page, section);
    let lines_of = |language: &str| {
        let blocks = blocks.iter().filter(|block| block.language == language);
        blocks
            .flat_map(|block| block.lines.clone())
            .collect::<Vec<_>>()
    };
    let programs = Path::new(MATINS_PROGRAM).parent().unwrap();
    let played = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &lines_of("sh").join("\n")])
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", programs.display()))
        .env("HOME", world.path())
        .env("MATINS_DATA", world.data_folder())
        .env("TZ", "Europe/Prague")
        .current_dir(world.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let output = String::from_utf8(played.stdout).unwrap();
    let failed = String::from_utf8_lossy(&played.stderr);
    assert!(played.status.success(), "{output}\n{failed}");
    (output, lines_of("text"))
}

/// Checks that an output has each line, in that order.
fn assert_lines<'a>(output: &str, lines: impl Iterator<Item = &'a str>) {
    let mut rest = output;
    for line in lines {
        let found = rest.find(line);
        let found = found.unwrap_or_else(|| panic!("`{line}` is missing: {output}"));
        rest = &rest[found + line.len()..];
    }
}

#[test]
fn normalized_text_keeps_rounds_tasks_and_exit_codes() {
    let ended = "07:20:54 FAILED     summary  worker-1  round 2 of 2  not accepted";
    assert_eq!(
        normalized(ended),
        "00:00:00 FAILED summary worker-0 round 2 of 2 not accepted"
    );
    for text in ["round 12 of 20", "done; 15 of 15 tasks are", "exit code 4"] {
        assert_eq!(normalized(text), text);
    }
    assert_eq!(normalized("Turns: 15 of 200"), "Turns: 00 of 000");
}

#[test]
fn agent_of_guide_checks_by_itself() {
    let world = TestInstallation::new();
    let (output, lines) = run_section(&world, "Let an agent check by itself");
    assert_lines(&output, lines.iter().map(String::as_str));
    // The list of memory entries, and both versions of the file.
    for text in ["check 2: nothing to do", "daily-check.md"] {
        assert!(output.matches(text).count() >= 2, "{text}: {output}");
    }
}

#[test]
fn team_of_guide_asks_and_leaves_summary_to_a_person() {
    let world = TestInstallation::new();
    let _server = world.serve();
    let (output, lines) = run_section(&world, "Let a team reach a goal");
    let lines: Vec<_> = lines.iter().map(|line| normalized(line)).collect();
    let lasting = lines.iter().filter_map(|line| lasting(line));
    assert_lines(&normalized(&output), lasting);
    // The page counts rounds from one, as the commands do, and the first round has no number.
    assert!(output.contains("round 2 of 2"), "{output}");
    assert!(!output.contains("round 1 of"), "{output}");
    // The goal is done after the person has accepted the summary, and not before.
    let accepted = output.find("summary is DONE.").unwrap();
    let done = output.find("The goal is done.").unwrap();
    assert!(accepted < done, "{output}");
}
