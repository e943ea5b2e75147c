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
    for asked in &history.asked {
        let about = if asked.words.is_empty() {
            &asked.path
        } else {
            &asked.words
        };
        if let Some(refused) = &asked.refused {
            check.violated(format!("{about}: it was refused: {refused}"));
        }
        let inputs = said
            .get(asked.words.as_str())
            .map_or(&[][..], Vec::as_slice);
        if inputs.len() > 1 {
            check.violated(format!("{about}: it is there {} times", inputs.len()));
        }
        let Some(id) = &asked.run else {
            continue;
        };
        let Some(run) = runs.get(id.as_str()) else {
            check.violated(format!("{about}: {id} was promised, and is not there"));
            continue;
        };
        if asked.words.is_empty() {
            fires += 1;
        } else {
            promised += 1;
            if inputs.first().is_none_or(|input| input.id != *id) {
                check.violated(format!("{about}: {id} was promised, and is another one"));
            }
        }
        let attempts = history.runs.iter().filter(|other| other.input == run.input);
        let last = attempts.max_by_key(|other| other.attempt);
        if !last.is_some_and(Run::is_over) {
            check.violated(format!("{about}: {id} has no end"));
        }
    }
    check.looked("words acknowledged", promised);
    check.looked("fires acknowledged", fires);
    check
}

#[cfg(test)]
mod tests {
    use super::{super::super::history::Asked, *};

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
        let asked = |words: &str, run: &str| Asked {
            words: words.into(),
            run: Some(run.into()),
            ..Asked::default()
        };
        History {
            runs: vec![
                run("run_1", "person", "hello"),
                run("run_2", "occurrence", "x"),
            ],
            asked: vec![asked("hello", "run_1"), asked("", "run_2")],
            ..History::default()
        }
    }

    fn broken(spoil: impl FnOnce(&mut History)) -> String {
        let mut history = history();
        spoil(&mut history);
        check(&history).violations.join("\n")
    }

    #[test]
    fn what_is_in_order_holds() {
        assert!(check(&history()).holds(), "{:?}", check(&history()));
    }

    #[test]
    fn request_check_reports_lost_or_duplicate_message() {
        let found = broken(|history| drop(history.runs.remove(0)));
        assert!(
            found.contains("run_1 was promised, and is not there"),
            "{found}"
        );
        let found = broken(|history| {
            let mut again = history.runs[0].clone();
            (again.id, again.input) = ("run_3".into(), "run_3".into());
            history.runs.push(again);
        });
        assert!(found.contains("hello: it is there 2 times"), "{found}");
        let found = broken(|history| history.asked[0].run = Some("run_2".into()));
        assert!(found.contains("is another one"), "{found}");
    }

    #[test]
    fn request_check_reports_open_run_and_refusal() {
        for run in 0..2 {
            let found = broken(|history| history.runs[run].status = "queued".into());
            assert!(found.contains("has no end"), "{found}");
        }
        let found = broken(|history| history.asked[1].refused = Some("409".into()));
        assert!(found.contains("it was refused: 409"), "{found}");
    }
}
