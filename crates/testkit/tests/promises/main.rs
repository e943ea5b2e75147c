//! The page `docs/promises.md` is complete: each promise has its number and names existing tests.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

mod browser_tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

const PAGE: &str = include_str!("../../../../docs/promises.md");

/// The accepted promises: each number with the beginning of the hash of its text. A change needs `MATINS_UPDATE=1`.
const ACCEPTED_PROMISES: &str = include_str!("../promises.txt");

/// The heading of the section with promises that no test shows yet.
const UNPROVEN_HEADING: &str = "Not yet";

/// A section of the page.
struct Section<'a> {
    /// The whole heading.
    heading: &'a str,
    /// The number before the name. `None` for the section of promises without tests.
    number: Option<usize>,
    /// The number of promises that the heading states.
    stated_count: Option<usize>,
    rows: Vec<Row<'a>>,
}

/// A promise, as a row of a table.
struct Row<'a> {
    number: &'a str,
    promise: &'a str,
    /// The tests that show the promise, or the missing part of the product.
    evidence: &'a str,
}

fn section(heading: &str) -> Section<'_> {
    let (name, stated) = heading.rsplit_once(": ").unwrap_or((heading, ""));
    let number = name
        .split_once(". ")
        .and_then(|(number, _)| number.parse().ok());
    Section {
        heading,
        number,
        stated_count: stated
            .strip_suffix(" promises")
            .or_else(|| stated.strip_suffix(" promise"))
            .and_then(|count| count.parse().ok()),
        rows: Vec::new(),
    }
}

/// Returns the sections of a page.
fn sections(page: &str) -> Vec<Section<'_>> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    for line in page.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            sections.push(section(heading));
        }
        let (Some(section), Some(cells)) = (sections.last_mut(), line.strip_prefix("| ")) else {
            continue;
        };
        let cells = cells.strip_suffix(" |").unwrap_or(cells);
        let mut cells = cells.splitn(3, " | ").map(str::trim);
        let mut next = || cells.next().unwrap_or_default();
        let row = Row {
            number: next(),
            promise: next(),
            evidence: next(),
        };
        if row
            .number
            .starts_with(|letter: char| letter.is_ascii_digit())
        {
            section.rows.push(row);
        }
    }
    sections
}

/// Returns the names between backticks in a cell.
fn names_in_backticks(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// Returns the faults of a page. `tests` has the names of all existing tests.
fn page_faults(page: &str, tests: &BTreeSet<String>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut numbers: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut promises = BTreeSet::new();
    let sections = sections(page);
    for section in &sections {
        let heading = section.heading;
        let not_yet = heading.starts_with(UNPROVEN_HEADING);
        if section.stated_count.is_none() || (section.number.is_none() && !not_yet) {
            faults.push(format!(
                "{heading}: the heading has no number or states no count"
            ));
        }
        for row in &section.rows {
            let number = row.number;
            let parts = number.split_once('.');
            let parts = parts.and_then(|(of, own)| Some((of.parse().ok()?, own.parse().ok()?)));
            match parts {
                Some((of, own)) if not_yet || section.number == Some(of) => {
                    numbers.entry(of).or_default().push(own);
                }
                _ => faults.push(format!("{number}: the number does not belong to {heading}")),
            }
            if row.promise.is_empty() || !promises.insert(row.promise) {
                faults.push(format!(
                    "{number}: the promise is empty or repeats another one"
                ));
            }
            let shown = names_in_backticks(row.evidence).count();
            if row.evidence.is_empty() || (!not_yet && shown == 0) {
                faults.push(format!("{number}: no test shows the promise"));
            }
            let unknown =
                names_in_backticks(row.evidence).filter(|test| !not_yet && !tests.contains(*test));
            faults.extend(unknown.map(|test| format!("{number}: the test {test} does not exist")));
        }
    }
    for section in &sections {
        let (heading, stated) = (section.heading, section.stated_count);
        let count = match section.number {
            None => section.rows.len(),
            Some(number) => {
                // A promise without a test keeps the number of its section, so the numbers of both sections count
                // together.
                let mut numbers = numbers.remove(&number).unwrap_or_default();
                numbers.sort_unstable();
                if numbers.iter().copied().ne(1..=numbers.len()) {
                    faults.push(format!(
                        "{heading}: a number is missing or occurs twice: {numbers:?}"
                    ));
                }
                numbers.len()
            }
        };
        if stated.is_some_and(|stated| stated != count) {
            faults.push(format!("{heading}: the section has {count} promises"));
        }
    }
    let unknown_sections = numbers.keys();
    faults.extend(
        unknown_sections
            .map(|number| format!("{UNPROVEN_HEADING}: the section {number} does not exist")),
    );
    faults
}

/// Returns the number of each promise of a page, in order, with the first eight digits of the SHA-256 of its text.
fn promise_hashes(page: &str) -> Vec<String> {
    let sections = sections(page);
    let rows = sections.iter().flat_map(|section| &section.rows);
    let mut texts: Vec<_> = rows
        .map(|row| {
            let hash = Sha256::digest(row.promise.as_bytes());
            let first = hash.iter().take(4);
            let first = first.fold(0_u32, |number, byte| (number << 8) | u32::from(*byte));
            let parts = row.number.split('.').map(|part| part.parse::<usize>().ok());
            let order: Vec<_> = parts.collect();
            (order, format!("{} {first:08x}", row.number))
        })
        .collect();
    texts.sort();
    texts.into_iter().map(|(_, text)| text).collect()
}

/// Returns the names of all tests of the crates and tools, as `crate::file::name`, and of those of the page in a
/// browser, as `page::file::name`.
fn all_tests() -> BTreeSet<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let tools = crates.with_file_name("tools");
    let mut tests = browser_tests::browser_tests(&crates.with_file_name("page"));
    let folders = [crates, &tools].map(|folder| fs::read_dir(folder).unwrap());
    for entry in folders.into_iter().flatten() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap();
        for file in rust_files(&folder) {
            let text = fs::read_to_string(&file).unwrap();
            let own = module_name(&file);
            for test in marked_tests(&text) {
                tests.insert(format!("{name}::{own}::{test}"));
            }
            // A long list has its macro in a file of its own.
            let with_macro = format!("{}\n{text}", read_child_module(&file, "registry"));
            for (of, test) in tests_listed_in_macros(&with_macro) {
                let module = of.as_deref().unwrap_or(&own);
                if of
                    .as_ref()
                    .is_none_or(|of| defines(&read_child_module(&file, of), &test))
                {
                    tests.insert(format!("{name}::{module}::{test}"));
                }
            }
        }
    }
    tests
}

/// Returns the sources and the tests below a crate's folder.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let folders = ["src", "tests"].map(|name| folder.join(name));
    folders.iter().flat_map(|it| rust_files_in(it)).collect()
}

/// Returns the files of Rust below a folder, which may be missing.
fn rust_files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let (folders, mut files): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_dir());
    files.retain(|path| path.extension().is_some_and(|kind| kind == "rs"));
    files.extend(folders.iter().flat_map(|it| rust_files_in(it)));
    files
}

/// Returns the module name of a file: its own name, or that of its folder for `main.rs` and `mod.rs`.
fn module_name(file: &Path) -> String {
    let own = file.file_stem().unwrap().to_str().unwrap();
    let folder = file.parent().and_then(Path::file_name);
    match own {
        "main" | "mod" => folder.unwrap().to_str().unwrap().to_owned(),
        _ => own.to_owned(),
    }
}

/// Returns the text of a module beside a file, with its child modules. Returns an empty text if there is no such file.
fn read_child_module(file: &Path, module: &str) -> String {
    let own = file.with_file_name(format!("{module}.rs"));
    let files = [vec![own], rust_files_in(&file.with_file_name(module))].concat();
    let read = |file: &PathBuf| fs::read_to_string(file).unwrap_or_default();
    files.iter().map(read).collect()
}

fn defines(text: &str, name: &str) -> bool {
    // A module may re-export a behaviour of another one.
    text.contains(&format!(" fn {name}(")) || text.contains(&format!("::{name};"))
}

/// Returns the name of the function that begins on a line.
fn function_name(line: &str) -> Option<&str> {
    let mut line = line.trim_start();
    for before in ["pub ", "pub(crate) ", "async "] {
        line = line.strip_prefix(before).unwrap_or(line);
    }
    let (name, _) = line.strip_prefix("fn ")?.split_once(['(', '<'])?;
    name.chars().all(is_name_char).then_some(name)
}

fn is_name_char(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// Returns `true` if an attribute marks a test: `#[test]` or `#[tokio::test(...)]`.
fn is_test_attribute(attribute: &str) -> bool {
    let path = attribute.trim_start_matches("#[");
    let end = path.find(|letter| !is_name_char(letter) && letter != ':');
    let last = path[..end.unwrap_or(path.len())].rsplit("::").next();
    last == Some("test")
}

/// Returns the functions of a text that are marked as tests and not as ignored.
fn marked_tests(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut test, mut left_out) = (false, false);
    // The number of open brackets of an attribute that goes on over several lines.
    let mut open = 0;
    for line in text.lines() {
        let line = line.trim();
        if open > 0 || line.starts_with("#[") {
            test |= open == 0 && is_test_attribute(line);
            left_out |= open == 0 && line.starts_with("#[ignore");
            let brackets = line.matches('[').count();
            open = (open + brackets).saturating_sub(line.matches(']').count());
            continue;
        }
        if line.starts_with("//") {
            continue;
        }
        if let (Some(name), true, false) = (function_name(line), test, left_out) {
            found.push(name);
        }
        (test, left_out) = (false, false);
    }
    found
}

/// Returns the tests that the macros of a text generate, each with its module if the macro's list names one.
fn tests_listed_in_macros(text: &str) -> Vec<(Option<String>, String)> {
    let mut found = Vec::new();
    let mut rest = text;
    let mut macros = Vec::new();
    let mut calls = String::new();
    while let Some((before, after)) = rest.split_once("macro_rules! ") {
        calls.push_str(before);
        let (name, body) = after.split_once(' ').unwrap();
        let length = bracketed_length(body);
        if ["#[test]", "::test]", "::test("]
            .iter()
            .any(|test| body[..length].contains(test))
        {
            macros.push(format!("\n{name}!"));
        }
        rest = &body[length..];
    }
    calls.push_str(rest);
    for made in macros {
        for (at, _) in calls.match_indices(&made) {
            let body = calls[at + made.len()..].trim_start();
            found.extend(list_entries(&body[..bracketed_length(body)]));
        }
    }
    found
}

/// Returns the length of the bracketed part at the beginning of a text.
fn bracketed_length(text: &str) -> usize {
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + letter.len_utf8();
        }
    }
    text.len()
}

/// Returns the names in a list such as `{ module: [name, name] }` or `{ name: Type, name: Type }`.
fn list_entries(list: &str) -> Vec<(Option<String>, String)> {
    let words = tokens(list);
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    let mut found = Vec::new();
    let mut module = None;
    for (at, name) in words.iter().enumerate() {
        if *name == "]" {
            module = None;
        }
        if !name.starts_with(|letter: char| letter.is_ascii_lowercase()) {
            continue;
        }
        let first = at > 0 && matches!(word(at - 1), "{" | "(" | "[" | "," | "]" | "}");
        match (word(at + 1), word(at + 2)) {
            (":", "[") => module = Some((*name).to_owned()),
            ("{", _) => {}
            _ if first => found.push((module.clone(), (*name).to_owned())),
            _ => {}
        }
    }
    found
}

/// Splits a text into names and single marks.
fn tokens(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = rest
            .find(|letter| !is_name_char(letter))
            .unwrap_or(rest.len());
        let (word, after) = rest.split_at(end.max(first.len_utf8()));
        words.push(word);
        rest = after.trim_start();
    }
    words
}

#[test]
fn every_promise_names_existing_tests() {
    let tests = all_tests();
    assert!(tests.len() > 500, "only {} tests were found", tests.len());
    assert!(sections(PAGE).len() > 6, "sections are missing");
    let faults = page_faults(PAGE, &tests);
    assert!(faults.is_empty(), "{faults:#?}");
}

/// Guards the promises against accidental changes: a removed, renumbered or reworded row fails until a run with
/// `MATINS_UPDATE=1` accepts it.
#[test]
fn promises_match_accepted_hashes() {
    let texts = promise_hashes(PAGE);
    if option_env!("MATINS_UPDATE").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/promises.txt");
        fs::write(path, texts.join("\n") + "\n").unwrap();
        return;
    }
    let accepted: BTreeSet<_> = ACCEPTED_PROMISES.lines().collect();
    let present: BTreeSet<_> = texts.iter().map(String::as_str).collect();
    let removed: Vec<_> = accepted.difference(&present).collect();
    let new: Vec<_> = present.difference(&accepted).collect();
    assert!(
        removed.is_empty() && new.is_empty(),
        "removed: {removed:?}, new: {new:?}; accept both with MATINS_UPDATE=1"
    );
}

#[test]
fn changed_promise_text_is_detected() {
    let whole = "## 1. Seats: 2 promises\n| 1.10 | Ten. | `a` |\n| 1.2 | Two. | `b` |\n";
    let before = promise_hashes(whole);
    assert_eq!(before.len(), 2);
    assert!(before[0].starts_with("1.2 ") && before[1].starts_with("1.10 "));
    // A change of the tests does not change the promise.
    assert_eq!(promise_hashes(&whole.replace("`b`", "`c`")), before);
    for (replaced, by) in [
        ("Two.", "Two!"),
        ("1.10", "1.1"),
        ("| 1.2 | Two. | `b` |\n", ""),
    ] {
        assert_ne!(
            promise_hashes(&whole.replace(replaced, by)),
            before,
            "{replaced}"
        );
    }
}

#[test]
fn each_kind_of_promise_page_fault_is_found() {
    let tests = BTreeSet::from(["store::say::a".to_owned()]);
    let page = |replaced: &str, by: &str| {
        let whole = "## 1. Seats: 3 promises\n| number | promise | shown by |\n| --- | --- | --- |\n\
            | 1.1 | One. | `store::say::a` |\n| 1.3 | Three. | `store::say::a` |\n\
            ## Not yet: 1 promises\n| 1.2 | Two. | it is not made |\n";
        assert!(whole.contains(replaced), "{replaced}");
        page_faults(&whole.replace(replaced, by), &tests)
    };
    assert_eq!(page("One", "One"), [""; 0]);
    for (replaced, by, expected) in [
        ("Seats: 3 promises", "Seats", "states no count"),
        ("Seats: 3", "Seats: 4", "the section has 3"),
        ("yet: 1", "yet: 2", "the section has 1"),
        ("1. Seats", "Seats", "the heading has no number"),
        ("| 1.3", "| 1.4", "a number is missing"),
        ("| 1.3", "| 1.1", "a number is missing"),
        ("| 1.3", "| 2.3", "does not belong to 1. Seats"),
        ("| 1.2", "| 2.1", "the section 2 does not exist"),
        ("Three.", "One.", "repeats another one"),
        ("Two.", "", "the promise is empty"),
        ("it is not made", "", "no test shows the promise"),
        (
            "`store::say::a` |\n## ",
            "nothing |\n## ",
            "no test shows the promise",
        ),
        (
            "say::a` |\n## ",
            "say::b` |\n## ",
            "the test store::say::b does not exist",
        ),
    ] {
        let faults = page(replaced, by);
        assert!(
            faults.iter().any(|fault| fault.contains(expected)),
            "{by}: {faults:?}"
        );
    }
}

#[test]
fn tests_are_found_by_their_attributes() {
    let text = "#[test]\nfn a() {}\n\n#[tokio::test(flavor = \"x\")]\n// Why.\nasync fn b() {}\n\
        #[test]\n#[expect(\n  unused\n)]\npub(crate) fn c(\n    x: u8,\n) {}\nfn d() {}\n\
        #[test]\n#[ignore = \"slow\"]\nfn e() {}\n#[cfg(test)]\nfn f() {}\n";
    assert_eq!(marked_tests(text), ["a", "b", "c"]);
}

#[test]
fn tests_are_found_in_the_lists_of_macros() {
    let definition =
        "macro_rules! NAME {\n ($a:ident) => { #[tokio::test]\n async fn $a() {} };\n}\n";
    let own = |name: &str, call: &str| {
        let text = format!("{}\n{name}!{call}\n", definition.replace("NAME", name));
        let found = tests_listed_in_macros(&text).into_iter();
        let found = found.map(|(of, name)| format!("{}:{name}", of.unwrap_or_default()));
        found.collect::<Vec<_>>()
    };
    let nested = " {\n both {\n say: [a, b,]\n due: [c]\n }\n sqlite { due: [d] }\n}";
    assert_eq!(
        own("behaviours", nested),
        ["say:a", "say:b", "due:c", "due:d"]
    );
    assert_eq!(own("parts", "(a 0,\n b 1\n);"), [":a", ":b"]);
    let found = " {\n a: Thing as \"I1\" | \"I2\",\n b: Other as \"I3\",\n}";
    assert_eq!(own("is_found", found), [":a", ":b"]);
    let other = "macro_rules! values {\n ($a:ident) => { $a };\n}\nvalues! { a: 1 }\n";
    assert_eq!(tests_listed_in_macros(other), []);
}
