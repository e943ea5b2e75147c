//! The voice of comments: a subject that can be named, not a clause.
//!
//! "Returns the due triggers" can be understood at the first reading, "what is due" makes the reader search for the
//! subject. The test counts such clauses in the comments of Rust, SQL and TypeScript. It leaves out tests, benchmarks
//! and migrations: released migrations never change.

#![expect(clippy::unwrap_used, reason = "a test and its helpers")]

use std::{path::Path, process::Command};

/// The most clauses with "what" as their subject or object, in 1,000 words of comments.
const MAX_WHAT_CLAUSES_PER_1000_WORDS: f64 = 1.0;

/// The most pronouns without a noun, in 1,000 words of comments.
const MAX_PRONOUNS_PER_1000_WORDS: f64 = 0.5;

/// The words that make a clause of a "what" in front of them.
const AFTER_WHAT: [&str; 12] = [
    "is", "was", "has", "had", "must", "cannot", "can", "comes", "others", "it", "they", "there",
];

/// The pronouns that name no actor.
const PRONOUNS: [&str; 4] = ["whoever", "nobody", "somebody", "anybody"];

/// The parts of paths whose comments are left out.
const EXCLUDED_PATHS: [&str; 7] = [
    "/tests/",
    "/tests_",
    "/migrations/",
    "/stored/snapshots.rs",
    "benches/",
    "tools/bench/",
    "fuzz/",
];

/// The comments of the repository, or of a part of it.
#[derive(Default)]
struct CommentStatistics {
    word_count: usize,
    /// The lines that have a clause with "what".
    what_clauses: Vec<String>,
    /// The lines that have a pronoun without a noun.
    pronouns: Vec<String>,
    /// The comments inside functions.
    inner_comment_count: usize,
    /// The lines of code.
    code_line_count: usize,
}

impl CommentStatistics {
    /// Adds the comments of a file whose comments begin with `mark`.
    fn read(&mut self, name: &str, text: &str, mark: &str) {
        let mut before = String::new();
        for (index, line) in text.lines().enumerate() {
            // Test modules are at the end of a file.
            if line.trim() == "#[cfg(test)]" {
                return;
            }
            let Some(comment) = line.trim_start().strip_prefix(mark) else {
                self.code_line_count += usize::from(!line.trim().is_empty());
                before.clear();
                continue;
            };
            let is_documentation = mark == "//" && comment.starts_with(['/', '!']);
            self.inner_comment_count += usize::from(!is_documentation && line.starts_with("    "));
            let location = || format!("{name}:{}: {}", index + 1, line.trim());
            for word in comment.split(|letter: char| !letter.is_alphabetic() && letter != '\'') {
                if word.is_empty() {
                    continue;
                }
                let word = word.to_lowercase();
                self.word_count += 1;
                if before == "what" && AFTER_WHAT.contains(&word.as_str()) {
                    self.what_clauses.push(location());
                }
                if PRONOUNS.contains(&word.as_str()) {
                    self.pronouns.push(location());
                }
                before = word;
            }
        }
    }

    /// Returns how often something occurs in 1,000 words.
    #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 words")]
    fn rate_per_1000_words(&self, lines: &[String]) -> f64 {
        lines.len() as f64 * 1000.0 / self.word_count.max(1) as f64
    }
}

/// Reads the comments of all files that are committed or would be.
fn comment_statistics() -> CommentStatistics {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    let root = root.unwrap();
    let output = Command::new("git")
        // The files may belong to another user, as in a container.
        .args(["-c", "safe.directory=*", "ls-files", "-z"])
        .args(["--cached", "--others", "--exclude-standard"])
        .args(["*.rs", "*.sql", "*.ts"])
        .current_dir(root)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let names = String::from_utf8(output.stdout).unwrap();
    let mut voice = CommentStatistics::default();
    for name in names.split_terminator('\0') {
        let is_sql = Path::new(name).extension() == Some("sql".as_ref());
        let mark = if is_sql { "--" } else { "//" };
        if EXCLUDED_PATHS.iter().any(|part| name.contains(part)) {
            continue;
        }
        // A deleted file stays in the index until it is committed.
        if let Ok(text) = std::fs::read_to_string(root.join(name)) {
            voice.read(name, &text, mark);
        }
    }
    voice
}

#[test]
fn comments_name_their_subject() {
    let voice = comment_statistics();
    assert!(voice.word_count > 10_000, "only {} words", voice.word_count);
    let (what, pronouns) = (
        voice.rate_per_1000_words(&voice.what_clauses),
        voice.rate_per_1000_words(&voice.pronouns),
    );
    #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 lines")]
    let density = voice.inner_comment_count as f64 / voice.code_line_count as f64;
    println!(
        "{} words; in 1,000 of them {what:.2} clauses with \"what\" and {pronouns:.2} pronouns without a noun; \
         {density:.3} comments inside functions per line of code",
        voice.word_count
    );
    assert!(
        what <= MAX_WHAT_CLAUSES_PER_1000_WORDS,
        "{what:.2}: {:#?}",
        voice.what_clauses
    );
    assert!(
        pronouns <= MAX_PRONOUNS_PER_1000_WORDS,
        "{pronouns:.2}: {:#?}",
        voice.pronouns
    );
}

#[test]
fn unclear_clause_is_found_across_lines_but_not_comments() {
    let mut voice = CommentStatistics::default();
    let text = "/// Reads what\n/// is due.\nfn a() {\n    // What it is.\n    // whatever\n}\n// What\nlet b;\n// is\n";
    voice.read("a.rs", text, "//");
    let lines = ["a.rs:2: /// is due.", "a.rs:4: // What it is."];
    assert_eq!(voice.what_clauses, lines);
    assert_eq!(
        (
            voice.word_count,
            voice.inner_comment_count,
            voice.code_line_count
        ),
        (10, 2, 3)
    );
    voice.read("b.sql", "-- Nobody waits.\nselect 1\n", "--");
    assert_eq!(voice.pronouns, ["b.sql:1: -- Nobody waits."]);
    voice.read("c.rs", "#[cfg(test)]\n/// Somebody\n", "//");
    assert_eq!(voice.pronouns.len(), 1);
}
