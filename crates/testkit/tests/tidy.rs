//! Rules for the repository's own files that the compiler does not check.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, ensure};

/// The maximum length of a Rust file, in lines. Most have about 120.
const MAX_LINES: usize = 500;

/// Words that mark unfinished work, and the attribute that silences a lint without a check that the lint still applies.
/// Each is written in two halves, so that the test does not find this file.
const UNWANTED_TEXTS: [&str; 4] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("#[", "allow("),
    concat!("#![", "allow("),
];

/// The beginnings of paths that exist only on one machine.
const MACHINE_FOLDERS: [&str; 3] = [
    concat!("/ro", "ot/"),
    concat!("/Use", "rs/"),
    concat!("/ho", "me/"),
];

/// The home folder inside agent pods belongs to the product.
const POD_HOME: &str = concat!("/ho", "me/agent");

/// A text file of the repository.
struct Text {
    name: String,
    content: String,
}

fn repository() -> anyhow::Result<PathBuf> {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    Ok(above
        .context("the crate is not two folders below the repository")?
        .to_owned())
}

/// Returns all text files that are committed or would be.
fn texts() -> anyhow::Result<Vec<Text>> {
    let root = repository()?;
    let output = Command::new("git")
        // The files may belong to another user, as in a container.
        .args(["-c", "safe.directory=*", "ls-files", "-z"])
        .args(["--cached", "--others", "--exclude-standard"])
        .current_dir(&root)
        .output()
        .context("cannot start `git`")?;
    ensure!(
        output.status.success(),
        "`git ls-files` failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let names = String::from_utf8(output.stdout)?;
    let text = |name: &str| {
        let content = fs::read_to_string(root.join(name)).ok()?;
        let name = name.to_owned();
        Some(Text { name, content })
    };
    Ok(names.split_terminator('\0').filter_map(text).collect())
}

/// Returns the text files with an extension.
fn with_extension(extension: &str) -> anyhow::Result<Vec<Text>> {
    let mut texts = texts()?;
    texts.retain(|text| Path::new(&text.name).extension() == Some(extension.as_ref()));
    Ok(texts)
}

/// Returns the location of each line for which `offends` is true, such as `crates/model/src/lib.rs:3`.
fn lines<'a>(texts: &'a [Text], offends: impl Fn(&str) -> bool + 'a) -> Vec<String> {
    let numbered = |text: &'a Text| {
        let lines = text.content.lines().enumerate();
        lines.map(move |(index, line)| (&text.name, index + 1, line))
    };
    texts
        .iter()
        .flat_map(numbered)
        .filter(|(_, _, line)| offends(line))
        .map(|(name, number, _)| format!("{name}:{number}"))
        .collect()
}

fn has_machine_folder(line: &str) -> bool {
    let line = line.replace(POD_HOME, "");
    MACHINE_FOLDERS.iter().any(|folder| line.contains(folder))
}

#[test]
fn rust_files_have_at_most_five_hundred_lines() {
    let mut long = with_extension("rs").unwrap();
    assert!(!long.is_empty(), "no file was found");
    long.retain(|text| text.content.lines().count() > MAX_LINES);
    let long: Vec<_> = long.iter().map(|text| &text.name).collect();
    assert!(long.is_empty(), "{long:?}");
}

#[test]
fn code_has_no_todo_and_no_unchecked_lint_allowance() {
    let texts = with_extension("rs").unwrap();
    let found = lines(&texts, |line| {
        UNWANTED_TEXTS.iter().any(|word| line.contains(word))
    });
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn every_sql_statement_begins_with_comment() {
    let mut texts = with_extension("sql").unwrap();
    texts.retain(|text| !text.content.starts_with("-- "));
    let bare: Vec<_> = texts.iter().map(|text| &text.name).collect();
    assert!(bare.is_empty(), "{bare:?}");
}

#[test]
fn every_crate_uses_workspace_lints() {
    let mut manifests = with_extension("toml").unwrap();
    manifests.retain(|text| text.name.ends_with("/Cargo.toml"));
    assert!(!manifests.is_empty(), "no crate was found");
    manifests.retain(|text| !text.content.contains("\n[lints]\nworkspace = true\n"));
    let without: Vec<_> = manifests.iter().map(|text| &text.name).collect();
    assert!(without.is_empty(), "{without:?}");
}

/// The kinds of code in documentation that no test has to run.
const KINDS_WITHOUT_TEST: [&str; 5] = ["text", "json", "sh", "sql", "toml"];

#[test]
fn documentation_comments_have_no_examples_of_rust() {
    // `scripts/test` runs no documentation tests, because building them takes longer than they are worth.
    let texts = with_extension("rs").unwrap();
    let mut found = Vec::new();
    for text in &texts {
        let mut is_open = false;
        for (index, line) in text.content.lines().enumerate() {
            let line = line.trim_start();
            let comment = line
                .strip_prefix("///")
                .or_else(|| line.strip_prefix("//!"));
            let fence = comment.and_then(|comment| comment.trim().strip_prefix("```"));
            if let Some(kind) = fence {
                is_open = !is_open;
                if is_open && !KINDS_WITHOUT_TEST.contains(&kind) {
                    found.push(format!("{}:{}", text.name, index + 1));
                }
            }
        }
    }
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn files_name_no_machine_folder() {
    let root = repository().unwrap();
    let root = root.to_str().unwrap();
    let texts = texts().unwrap();
    let found = lines(&texts, |line| {
        line.contains(root) || has_machine_folder(line)
    });
    assert!(found.is_empty(), "{found:?}");
}

/// Returns the targets in the repository of a page's links and pictures, with their lines. Skips code blocks.
fn links(page: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut in_code = false;
    for (index, line) in page.lines().enumerate() {
        in_code ^= line.starts_with("```");
        if in_code {
            continue;
        }
        for after in line.split("](").skip(1) {
            let target = after.split([')', '#']).next().unwrap_or_default();
            if !target.is_empty() && !target.contains("://") {
                found.push((index + 1, target.to_owned()));
            }
        }
    }
    found
}

/// Returns the paths of the repository that a page names between backticks, with their lines.
fn named_paths(page: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (index, line) in page.lines().enumerate() {
        for code in line.split('`').skip(1).step_by(2) {
            let folders = ["crates/", "docs/", "scripts/", "tools/"];
            let path = folders.iter().any(|folder| code.starts_with(folder));
            if path && !code.contains([' ', '*', '<']) {
                found.push((index + 1, code.to_owned()));
            }
        }
    }
    found
}

/// Returns the identifiers that a page names between backticks, as parts of paths such as `a_b` or `a::b`.
fn named_identifiers(page: &str) -> Vec<&str> {
    let codes = page
        .lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2));
    let identifier = |letter: char| letter.is_ascii_alphanumeric() || "_:".contains(letter);
    let named = codes.filter_map(|code| {
        let name = code.split('(').next()?;
        (name.contains(['_', ':']) && name.chars().all(identifier)).then_some(name)
    });
    named
        .flat_map(|name| name.split("::"))
        .filter(|name| !name.is_empty())
        .collect()
}

#[test]
fn every_link_and_path_in_pages_exists() {
    let root = repository().unwrap();
    let pages = with_extension("md").unwrap();
    assert!(!pages.is_empty(), "no page was found");
    let mut dead = Vec::new();
    for page in &pages {
        let folder = root.join(&page.name);
        let folder = folder.parent().unwrap();
        let linked = links(&page.content).into_iter();
        let linked = linked.map(|(line, target)| (line, folder.join(&target), target));
        let named = named_paths(&page.content).into_iter();
        let named = named.map(|(line, target)| (line, root.join(&target), target));
        for (line, path, target) in linked.chain(named) {
            if !path.exists() {
                dead.push(format!("{}:{line}: {target}", page.name));
            }
        }
    }
    assert!(dead.is_empty(), "{dead:#?}");
}

#[test]
fn identifiers_in_architecture_page_exist_in_code() {
    let texts = texts().unwrap();
    let page = texts.iter().find(|text| text.name == "ARCHITECTURE.md");
    let named = named_identifiers(&page.unwrap().content);
    assert!(!named.is_empty(), "the page names no identifier");
    let code = |text: &&Text| {
        let kind = Path::new(&text.name).extension();
        kind.is_some_and(|kind| kind == "rs" || kind == "sql")
    };
    let code: Vec<_> = texts.iter().filter(code).collect();
    let is_defined = |name: &str| code.iter().any(|text| text.content.contains(name));
    let unknown: Vec<_> = named.into_iter().filter(|name| !is_defined(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn every_adr_is_indexed_once_in_order() {
    let pages = with_extension("md").unwrap();
    let decision = |page: &Text| {
        let name = page.name.strip_prefix("docs/adr/")?.to_owned();
        (name != "README.md").then_some(name)
    };
    let mut decisions: Vec<_> = pages.iter().filter_map(decision).collect();
    decisions.sort();
    let index = pages.iter().find(|page| page.name == "docs/adr/README.md");
    let index: Vec<_> = links(&index.unwrap().content)
        .into_iter()
        .map(|(_, target)| target)
        .collect();
    assert_eq!(index, decisions);
    for (name, number) in decisions.iter().zip(1..) {
        assert!(name.starts_with(&format!("{number:04}-")), "{name}");
    }
}

#[test]
fn links_are_found_outside_code_only() {
    let page = "[a](b.md#c) and ![d](e/f.svg)\n[g](https://h) [i](#j)\n```\n[k](l)\n```\n";
    let expected = [(1, "b.md".to_owned()), (1, "e/f.svg".to_owned())];
    assert_eq!(links(page), expected);
    let page = "`crates/a`, `tools/b` or `crates/*/b`, not `other/c`";
    let expected = [(1, "crates/a".to_owned()), (1, "tools/b".to_owned())];
    assert_eq!(named_paths(page), expected);
    let page = "`Store::fire_due(now)` and `a_b`, not `word` or `a_b/c`";
    assert_eq!(named_identifiers(page), ["Store", "fire_due", "a_b"]);
}

#[test]
fn offending_lines_are_named_by_file_and_number() {
    let text = |content: &str| Text {
        name: "a.rs".to_owned(),
        content: content.to_owned(),
    };
    let texts = [text("fine\n"), text("fine\nsee this")];
    assert_eq!(lines(&texts[..1], has_machine_folder), Vec::<String>::new());
    assert_eq!(lines(&texts, |line| line.contains("see")), ["a.rs:2"]);
    assert!(!has_machine_folder(POD_HOME));
    assert!(has_machine_folder(concat!("cd /ho", "me/me")));
}
