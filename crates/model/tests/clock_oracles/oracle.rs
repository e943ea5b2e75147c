//! Asking others, through `scripts/clock-oracles`.

use std::{
    fmt::Write as _,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    thread,
};

use super::{cases::Case, rules::FIRES};

/// What an oracle says of one case: the instants in seconds, or why there are none.
pub(crate) type Answer = Result<Vec<i64>, String>;

/// Asks `oracle` for the first fires of each case, whose expression it writes as is given here.
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
    // An oracle that stops reading says why by its status.
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
        Some(why) => Err(why.to_owned()),
        None => Ok(line
            .split_whitespace()
            .map(|at| at.parse().unwrap())
            .collect()),
    }
}
