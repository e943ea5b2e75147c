//! Requests of people: a message with an idempotency key is stored at most once, in spite of retries, and the run of
//! each confirmed message or fire request exists and ends. The check cannot find a fire request that was executed
//! twice, because the runs of an automation all have the same content.

use std::collections::HashMap;

use super::{
    super::history::{History, Run},
    verdict::Check,
};

/// Checks all requests of people: none is refused, each message exists at most once, and each confirmed run exists
/// and ends.
pub(super) fn check(history: &History) -> Check {
    let mut check = Check::new(
        "words",
        "what was acknowledged is there once, and has an end",
    );
    // The first attempts of people's messages by their text, which is unique for each request.
    let mut said: HashMap<&str, Vec<&Run>> = HashMap::new();
    for run in history.runs.iter().filter(|run| run.attempt == 1) {
        if run.origin == "person" {
            said.entry(&run.content).or_default().push(run);
        }
    }
    let runs = history.runs_by_id();
    let (mut promised, mut fires) = (0, 0);
    for asked in &history.requests {
        let about = if asked.text.is_empty() {
            &asked.path
        } else {
            &asked.text
        };
        if let Some(refused) = &asked.refusal {
            check.add_violation(format!("{about}: it was refused: {refused}"));
        }
        let inputs = said.get(asked.text.as_str()).map_or(&[][..], Vec::as_slice);
        if inputs.len() > 1 {
            check.add_violation(format!("{about}: it is there {} times", inputs.len()));
        }
        let Some(id) = &asked.run else {
            continue;
        };
        let Some(run) = runs.get(id.as_str()) else {
            check.add_violation(format!("{about}: {id} was promised, and is not there"));
            continue;
        };
        if asked.text.is_empty() {
            fires += 1;
        } else {
            promised += 1;
            if inputs.first().is_none_or(|input| input.id != *id) {
                check.add_violation(format!("{about}: {id} was promised, and is another one"));
            }
        }
        let attempts = history.runs.iter().filter(|other| other.input == run.input);
        let last = attempts.max_by_key(|other| other.attempt);
        if !last.is_some_and(Run::has_ended) {
            check.add_violation(format!("{about}: {id} has no end"));
        }
    }
    check.record_inspected("words acknowledged", promised);
    check.record_inspected("fires acknowledged", fires);
    check
}

#[cfg(test)]
mod tests {
    use super::{super::super::history::PersonRequest, *};

    fn history() -> History {
        let run = |id: &str, origin: &str, content: &str| Run {
            id: id.into(),
            input: id.into(),
            attempt: 1,
            origin: origin.into(),
            content: content.into(),
            status: "succeeded".into(),
            ..Run::default()
        };
        let asked = |words: &str, run: &str| PersonRequest {
            text: words.into(),
            run: Some(run.into()),
            ..PersonRequest::default()
        };
        History {
            runs: vec![
                run("run_1", "person", "hello"),
                run("run_2", "occurrence", "x"),
            ],
            requests: vec![asked("hello", "run_1"), asked("", "run_2")],
            ..History::default()
        }
    }

    fn violations_after(spoil: impl FnOnce(&mut History)) -> String {
        let mut history = history();
        spoil(&mut history);
        check(&history).violations.join("\n")
    }

    #[test]
    fn request_check_accepts_valid_history() {
        assert!(check(&history()).holds(), "{:?}", check(&history()));
    }

    #[test]
    fn request_check_reports_lost_or_duplicate_message() {
        let found = violations_after(|history| drop(history.runs.remove(0)));
        assert!(
            found.contains("run_1 was promised, and is not there"),
            "{found}"
        );
        let found = violations_after(|history| {
            let mut again = history.runs[0].clone();
            (again.id, again.input) = ("run_3".into(), "run_3".into());
            history.runs.push(again);
        });
        assert!(found.contains("hello: it is there 2 times"), "{found}");
        let found = violations_after(|history| history.requests[0].run = Some("run_2".into()));
        assert!(found.contains("is another one"), "{found}");
    }

    #[test]
    fn request_check_reports_open_run_and_refusal() {
        for run in 0..2 {
            let found = violations_after(|history| history.runs[run].status = "queued".into());
            assert!(found.contains("has no end"), "{found}");
        }
        let found = violations_after(|history| history.requests[1].refusal = Some("409".into()));
        assert!(found.contains("it was refused: 409"), "{found}");
    }
}
