//! Queries the oracles through `scripts/clock-oracles`.

use std::{
    fmt::Write as _,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    thread,
};

use super::{cases::Case, rules::FIRES};

/// The answer of an oracle for one case: the instants in seconds, or the reason why there are none.
pub(crate) type Answer = Result<Vec<i64>, String>;

/// Queries `oracle` for the first fires of each case. The text is the expression in the dialect of the oracle.
pub(crate) fn query(oracle: &str, questions: &[(String, Case)]) -> Vec<Answer> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap();
    let mut child = Command::new(root.join("scripts/clock-oracles"))
        .arg(oracle)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = String::new();
    for (expression, Case { zone, after, .. }) in questions {
        writeln!(input, "{zone}\t{after}\t{FIRES}\t{expression}").unwrap();
    }
    let mut stdin = child.stdin.take().unwrap();
    // The write fails if the oracle stops reading. Its exit status then has the reason.
    let writer = thread::spawn(move || stdin.write_all(input.as_bytes()).ok());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(
        output.status.success(),
        "{oracle} ended with {}",
        output.status
    );
    let output = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Answer> = output.lines().map(read).collect();
    assert_eq!(answers.len(), questions.len(), "{oracle} left out answers");
    answers
}

fn read(line: &str) -> Answer {
    match line.strip_prefix("! ") {
        Some(reason) => Err(reason.to_owned()),
        None => Ok(line
            .split_whitespace()
            .map(|at| at.parse().unwrap())
            .collect()),
    }
}
