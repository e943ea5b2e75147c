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

/// Runs the commands of a section in one shell, as a person of Prague, and checks that the output has each line that the
/// section shows, in that order.
fn play_section(section: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/guide.md")).unwrap();
    let blocks = blocks(&page, section);
    let lines_of = |language: &str| {
        let blocks = blocks.iter().filter(|block| block.language == language);
        blocks
            .flat_map(|block| block.lines.clone())
            .collect::<Vec<_>>()
    };
    let world = TestInstallation::new();
    let programs = Path::new(MATINS_PROGRAM).parent().unwrap();
    let played = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &lines_of("sh").join("\n")])
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", programs.display()))
        .env("HOME", world.path())
        .env("TZ", "Europe/Prague")
        .current_dir(world.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let output = String::from_utf8(played.stdout).unwrap();
    let failed = String::from_utf8_lossy(&played.stderr);
    assert!(played.status.success(), "{output}\n{failed}");
    let mut rest = output.as_str();
    for line in lines_of("text") {
        let found = rest.find(&line);
        let found = found.unwrap_or_else(|| panic!("`{line}` is missing: {output}\n{failed}"));
        rest = &rest[found + line.len()..];
    }
    output
}

#[test]
fn agent_of_guide_checks_by_itself() {
    let output = play_section("Let an agent check by itself");
    // The list of memory entries, and both versions of the file.
    for text in ["check 2: nothing to do", "daily-check.md"] {
        assert!(output.matches(text).count() >= 2, "{text}: {output}");
    }
}
