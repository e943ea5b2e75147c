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
        "requests",
        "each confirmed request has exactly one run, and the run ends",
    );
    // The first attempts of people's messages by their text, which is unique for each request.
    let mut inputs_by_text: HashMap<&str, Vec<&Run>> = HashMap::new();
    for run in history.runs.iter().filter(|run| run.attempt == 1) {
        if run.origin == "person" {
            inputs_by_text.entry(&run.content).or_default().push(run);
        }
    }
    let runs = history.runs_by_id();
    let (mut messages, mut fires) = (0, 0);
    for request in &history.requests {
        let about = if request.text.is_empty() {
            &request.path
        } else {
            &request.text
        };
        if let Some(refusal) = &request.refusal {
            check.add_violation(format!("{about}: a server refused it: {refusal}"));
        }
        let inputs = inputs_by_text
            .get(request.text.as_str())
            .map_or(&[][..], Vec::as_slice);
        if inputs.len() > 1 {
            check.add_violation(format!("{about}: it has {} runs", inputs.len()));
        }
        let Some(id) = &request.run else {
            continue;
        };
        let Some(run) = runs.get(id.as_str()) else {
            check.add_violation(format!("{about}: {id} was confirmed, but does not exist"));
            continue;
        };
        if request.text.is_empty() {
            fires += 1;
        } else {
            messages += 1;
            if inputs.first().is_none_or(|input| input.id != *id) {
                check.add_violation(format!(
                    "{about}: {id} was confirmed, but belongs to another message"
                ));
            }
        }
        let attempts = history.runs.iter().filter(|other| other.input == run.input);
        let last = attempts.max_by_key(|other| other.attempt);
        if !last.is_some_and(Run::has_ended) {
            check.add_violation(format!("{about}: {id} has not ended"));
        }
    }
    check.record_inspected("confirmed messages", messages);
    check.record_inspected("confirmed fire requests", fires);
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
        let request = |text: &str, run: &str| PersonRequest {
            text: text.into(),
            run: Some(run.into()),
            ..PersonRequest::default()
        };
        History {
            runs: vec![
                run("run_1", "person", "hello"),
                run("run_2", "occurrence", "x"),
            ],
            requests: vec![request("hello", "run_1"), request("", "run_2")],
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
            found.contains("run_1 was confirmed, but does not exist"),
            "{found}"
        );
        let found = violations_after(|history| {
            let mut again = history.runs[0].clone();
            (again.id, again.input) = ("run_3".into(), "run_3".into());
            history.runs.push(again);
        });
        assert!(found.contains("hello: it has 2 runs"), "{found}");
        let found = violations_after(|history| history.requests[0].run = Some("run_2".into()));
        assert!(found.contains("belongs to another message"), "{found}");
    }

    #[test]
    fn request_check_reports_open_run_and_refusal() {
        for run in 0..2 {
            let found = violations_after(|history| history.runs[run].status = "queued".into());
            assert!(found.contains("has not ended"), "{found}");
        }
        let found = violations_after(|history| history.requests[1].refusal = Some("409".into()));
        assert!(found.contains("a server refused it: 409"), "{found}");
    }
}
