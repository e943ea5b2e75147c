//! Checks, reviews and their rounds.

use std::collections::BTreeSet;

use crate::goal::{
    event::{Effect, Finding, Severity, StuckCause, Verdict},
    graph::Stop,
    limits::REVIEW_ATTEMPTS,
    mover::Mover,
    seat::{Prompt, SeatNo},
    task::{Activity, DoneBy, FailReason, Progress, Task, TaskKind, TaskNo, TaskState},
    team::{JUDGE, Reviews},
};

/// Returns the IDs of the findings that count: in the judge's first round all blockers, later only those that were not
/// resolved, and regressions. Rounds in which a check failed do not count here, because the judge has not seen them. The others are notes, so that a judge cannot find something new forever.
pub fn counted_findings(progress: &Progress, findings: &[Finding]) -> BTreeSet<String> {
    let counts = |finding: &&Finding| {
        finding.severity == Severity::Blocker
            && (progress.reviews == 0
                || finding.regression
                || progress.findings.contains(&finding.id))
    };
    let counted = findings.iter().filter(counts);
    counted.map(|finding| finding.id.clone()).collect()
}

/// Returns the number of pieces of evidence that a verdict needs to accept a task: one for each acceptance line.
pub fn needed_evidence(task: &Task) -> usize {
    task.acceptance.max(1)
}

/// Returns `true` if a verdict has the evidence or the findings that it needs. Otherwise it counts as none.
pub fn is_complete_verdict(task: &Task, verdict: &Verdict) -> bool {
    match verdict {
        Verdict::Accept { evidence } => *evidence >= needed_evidence(task),
        Verdict::SendBack(findings) => !findings.is_empty(),
    }
}

/// A verdict, after the rules for evidence and findings.
enum Judgement {
    Accepted,
    SentBack(BTreeSet<String>),
    /// The verdict has no evidence or no finding, so it counts as none.
    None,
}

impl Mover<'_> {
    /// Goes on after the work of a task: its checks, its review, or its end.
    pub(super) fn after_work(&mut self, no: TaskNo, unreported: bool) {
        self.task_mut(no).progress.unreported = unreported;
        if self.task(no).checks.is_empty() {
            self.after_checks(no);
        } else {
            self.run_checks(no);
        }
    }

    /// Starts the checks of a task.
    pub(super) fn run_checks(&mut self, no: TaskNo) {
        self.set_state(no, TaskState::Running(Activity::Checks));
        self.graph.checking.insert(no);
        self.effects.push(Effect::RunChecks(no));
    }

    /// Goes on after all checks of a task have passed. A failure of an earlier round is mended then, so that no prompt and no
    /// report names it.
    pub(super) fn pass_checks(&mut self, no: TaskNo) {
        let progress = &mut self.task_mut(no).progress;
        progress.failed_check = None;
        progress.equal_checks = 0;
        self.after_checks(no);
    }

    /// Goes on to the review of a task, or to its end.
    fn after_checks(&mut self, no: TaskNo) {
        let task = self.task(no);
        let needs_review = match self.graph.team.reviews {
            _ if self.graph.judge_role().is_none() => false,
            Reviews::Goal => false,
            Reviews::Marked => task.review,
            Reviews::All => self.graph.team.roles[task.role].name != JUDGE,
        };
        if needs_review {
            self.start_review(no, Prompt::Review);
        } else if task.progress.unreported {
            self.complete(no, DoneBy::Answer);
        } else {
            self.complete(no, DoneBy::Result);
        }
    }

    /// Starts a round of review, or another attempt at one.
    pub(super) fn start_review(&mut self, no: TaskNo, prompt: Prompt) {
        let usual = self
            .task(no)
            .progress
            .judge
            .filter(|seat| self.is_present(*seat));
        let judge = usual.or_else(|| {
            let role = self.graph.judge_role()?;
            self.least_loaded(role)
        });
        match judge {
            Some(seat) => {
                self.set_state(no, TaskState::Running(Activity::Review { seat }));
                self.queue(seat, no, prompt);
            }
            None => self.break_judge(no),
        }
    }

    /// Lets a task wait for a person, because no judge gives a verdict. This is no rejection.
    pub(super) fn break_judge(&mut self, no: TaskNo) {
        self.set_state(no, TaskState::Running(Activity::BrokenJudge));
        self.stick(StuckCause::JudgeBroken);
    }

    /// Lets the goal become stuck as soon as no turn is under way.
    pub(super) fn stick(&mut self, cause: StuckCause) {
        if self.graph.stop.is_none() {
            self.graph.stop = Some(Stop::Stuck(cause));
        }
    }

    /// Returns the judgement of a verdict.
    fn judgement(&self, no: TaskNo, verdict: &Verdict) -> Judgement {
        let task = self.task(no);
        match verdict {
            _ if !is_complete_verdict(task, verdict) => Judgement::None,
            Verdict::Accept { .. } => Judgement::Accepted,
            Verdict::SendBack(findings) => {
                let counted = counted_findings(&task.progress, findings);
                if counted.is_empty() {
                    Judgement::Accepted
                } else {
                    Judgement::SentBack(counted)
                }
            }
        }
    }

    /// Follows the verdict about a task.
    pub(super) fn judge(&mut self, no: TaskNo, seat: SeatNo, verdict: &Verdict) {
        match self.judgement(no, verdict) {
            Judgement::None => self.miss_verdict(no, seat, true),
            Judgement::Accepted => {
                self.note_check(no);
                self.complete(no, DoneBy::Judge);
            }
            Judgement::SentBack(findings) if self.graph.kind(no) == TaskKind::Check => {
                self.send_goal_back(no, findings);
            }
            Judgement::SentBack(findings) => {
                let progress = &mut self.task_mut(no).progress;
                let is_equal = progress.findings == findings;
                progress.equal_findings = if is_equal {
                    progress.equal_findings + 1
                } else {
                    1
                };
                let equal = progress.equal_findings;
                let about = findings.iter().cloned().collect();
                progress.findings = findings;
                progress.reviews += 1;
                self.send_back(no, equal, about);
            }
        }
    }

    /// Notes that a check of the whole goal has accepted it, which holds unless the goal has changed since the check began. The next
    /// check is about what changes later, so its first round counts all blockers again.
    pub(super) fn note_check(&mut self, no: TaskNo) {
        let task = self.task(no);
        if task.kind != TaskKind::Check {
            return;
        }
        if task.plan_version == self.graph.plan_version {
            self.graph.accepted = self.graph.required_open == 0;
        }
        self.graph.failed_checks = 0;
        self.graph.check_progress = Progress {
            judge: self.graph.check_progress.judge,
            ..Progress::default()
        };
    }

    /// Fails a check of the whole goal. Its findings outlive it, because the next check is the next round.
    fn send_goal_back(&mut self, no: TaskNo, findings: BTreeSet<String>) {
        let about = findings.iter().cloned().collect();
        self.graph.failed_checks += 1;
        let progress = &mut self.graph.check_progress;
        progress.reviews += 1;
        progress.findings = findings;
        progress.judge = self.graph.tasks[no.0].progress.judge;
        self.fail(no, FailReason::SentBack, about);
        if self.graph.failed_checks >= self.graph.limits.failed_checks {
            self.stick(StuckCause::CheckRejected);
        }
        // A goal that is stuck here gets its plan from the person who lets it go on, unless they accept the check.
        if self.graph.stop != Some(Stop::Stuck(StuckCause::CheckRejected)) {
            self.request_plan();
        }
    }

    /// Counts a failed check as a round of its task.
    pub(super) fn fail_check(&mut self, no: TaskNo, check: String, last_lines: String) {
        let progress = &mut self.task_mut(no).progress;
        let failed = Some((check.clone(), last_lines));
        let is_equal = progress.failed_check == failed;
        progress.equal_checks = if is_equal {
            progress.equal_checks + 1
        } else {
            1
        };
        progress.failed_check = failed;
        let equal = progress.equal_checks;
        self.send_back(no, equal, vec![check]);
    }

    /// Sends a task back to its seat, or fails it at the limit of rounds.
    fn send_back(&mut self, no: TaskNo, equal_rounds: u32, about: Vec<String>) {
        let (rounds, limits) = (self.task(no).progress.rounds + 1, &self.graph.limits);
        let (is_equal, is_last) = (equal_rounds >= limits.equal_rounds, rounds >= limits.rounds);
        let progress = &mut self.task_mut(no).progress;
        progress.rounds = rounds;
        progress.reminded = false;
        progress.judge_reminded = false;
        progress.judge_misses = 0;
        if is_equal {
            self.fail(no, FailReason::NoProgress, about);
        } else if is_last {
            self.fail(no, FailReason::NotAccepted, about);
        } else {
            self.return_to_seat(no, Prompt::Rework);
        }
    }

    /// Follows a turn of the judge without a verdict: one reminder in a round, then another attempt, then a person.
    pub(super) fn miss_verdict(&mut self, no: TaskNo, seat: SeatNo, may_remind: bool) {
        let is_check = self.graph.kind(no) == TaskKind::Check;
        let progress = &mut self.task_mut(no).progress;
        if may_remind && !progress.judge_reminded {
            progress.judge_reminded = true;
            self.queue(seat, no, Prompt::Reminder);
            return;
        }
        progress.judge_misses += 1;
        if progress.judge_misses < REVIEW_ATTEMPTS {
            let prompt = if is_check {
                Prompt::Check
            } else {
                Prompt::Review
            };
            self.start_review(no, prompt);
        } else {
            self.break_judge(no);
        }
    }
}
