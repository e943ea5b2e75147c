//! The ends of turns and checks in the naive model.

use std::collections::BTreeSet;

use super::{tests_naive::Naive, *};

impl Naive {
    pub(super) fn end_turn(
        &mut self,
        seat: usize,
        end: &TurnEnd,
        follow_up: bool,
        new_artifact: bool,
    ) {
        let current = self.current(seat);
        let input = self.seats[seat].turn.take().unwrap();
        self.end_wait(seat);
        self.idle = if new_artifact { 0 } else { self.idle + 1 };
        if follow_up {
            self.request_plan();
        }
        let Some(no) = current else {
            if let Some(no) = input.task().filter(|no| self.tasks[no.0].over()) {
                self.tasks[no.0].occupies = None;
            }
            return self.note_idle();
        };
        self.reported &= self.tasks[no].kind == TaskKind::Report;
        let of_judge = matches!(self.activity(no), Some(Activity::Review { .. }));
        match (end, self.tasks[no].kind) {
            (TurnEnd::Questions(open), _) if *open > 0 => {
                let question = Activity::Question {
                    seat: SeatNo(seat),
                    open: *open,
                    of_judge,
                };
                self.tasks[no].state = TaskState::Running(question);
            }
            (TurnEnd::Failed, TaskKind::Report) => self.fail(no, FailReason::Attempts, Vec::new()),
            (TurnEnd::Cancelled, _) if of_judge => self.break_judge(no),
            (TurnEnd::Cancelled, kind) => {
                self.fail(no, FailReason::TurnCancelled, Vec::new());
                if kind == TaskKind::Plan && self.version == 0 {
                    self.stick(StuckCause::NoPlan);
                }
            }
            (_, TaskKind::Report) => self.complete(no, DoneBy::Result),
            (end, _) if of_judge => self.end_review(no, seat, end),
            (end, TaskKind::Plan) => self.end_plan(no, seat, end),
            (end, _) => self.end_work(no, seat, end),
        }
        self.note_idle();
    }

    pub(super) fn note_idle(&mut self) {
        if self.idle >= self.limits.idle_turns {
            self.stick(StuckCause::NoProgress);
        }
    }

    fn attempt(&mut self, no: usize, prompt: Prompt) {
        let role = self
            .team
            .roles
            .iter()
            .find(|role| role.name == self.tasks[no].role)
            .unwrap();
        let attempts = role.attempts;
        self.tasks[no].attempts += 1;
        self.tasks[no].reminded = false;
        if self.tasks[no].attempts < attempts {
            self.back(no, prompt);
        } else {
            self.fail(no, FailReason::Attempts, Vec::new());
        }
    }

    fn remind(&mut self, no: usize, seat: usize, reason: FailReason) {
        if self.tasks[no].reminded {
            self.fail(no, reason, Vec::new());
        } else {
            self.tasks[no].reminded = true;
            self.queue(seat, no, Prompt::Reminder);
        }
    }

    fn end_plan(&mut self, no: usize, seat: usize, end: &TurnEnd) {
        let first = self.version == 0;
        match end {
            TurnEnd::Failed if first => self.attempt(no, Prompt::Plan),
            TurnEnd::Failed => self.attempt(no, Prompt::Replan),
            TurnEnd::WithoutReport {
                listed_tools: false,
            } => self.fail(no, FailReason::ToolsUnavailable, Vec::new()),
            TurnEnd::RefusedReport(_) => self.remind(no, seat, FailReason::PlanRefused),
            TurnEnd::Planned(plan) if !plan.tasks.is_empty() || !first && !plan.is_empty() => {
                match self.prepare(plan) {
                    Some(prepared) => {
                        let approve = self.team.approve_plan && !self.planned();
                        self.complete(no, DoneBy::Result);
                        self.publish(prepared);
                        if approve && self.goal == GoalState::Active {
                            self.goal = GoalState::Paused(PauseReason::ApprovePlan);
                        }
                    }
                    None => self.remind(no, seat, FailReason::PlanRefused),
                }
            }
            _ if first => self.remind(no, seat, FailReason::NoPlan),
            _ => self.complete(no, DoneBy::Result),
        }
        let failed = self.tasks[no].state.status() == TaskStatus::Failed;
        if failed && self.version == 0 {
            self.stick(StuckCause::NoPlan);
        }
    }

    fn end_work(&mut self, no: usize, seat: usize, end: &TurnEnd) {
        let role = self
            .team
            .roles
            .iter()
            .find(|role| role.name == self.tasks[no].role)
            .unwrap();
        let answers = role.accept_answers;
        match end {
            TurnEnd::Reported => self.worked(no, false),
            TurnEnd::Failed | TurnEnd::ReportedFailure => self.attempt(no, Prompt::Work),
            TurnEnd::WithoutReport {
                listed_tools: false,
            } if !answers => self.fail(no, FailReason::ToolsUnavailable, Vec::new()),
            _ if answers && self.tasks[no].reminded => self.worked(no, true),
            _ => self.remind(no, seat, FailReason::NoResult),
        }
    }

    fn worked(&mut self, no: usize, unreported: bool) {
        self.tasks[no].unreported = unreported;
        let has_checks = self.tasks[no]
            .new
            .as_ref()
            .is_some_and(|new| !new.checks.is_empty());
        if has_checks {
            self.run_checks(no);
        } else {
            self.checked(no);
        }
    }

    fn checked(&mut self, no: usize) {
        let task = &self.tasks[no];
        let marked = task.new.as_ref().is_some_and(|new| new.review);
        let review = self.has_judge()
            && task.role != JUDGE
            && match self.team.reviews {
                Reviews::Goal => false,
                Reviews::Marked => marked,
                Reviews::All => true,
            };
        match (review, task.unreported) {
            (true, _) => self.review(no, Prompt::Review),
            (false, true) => self.complete(no, DoneBy::Answer),
            (false, false) => self.complete(no, DoneBy::Result),
        }
    }

    pub(super) fn end_checks(&mut self, no: usize, event: &Event) {
        match event {
            Event::CheckFailed {
                check, last_lines, ..
            } => {
                let round = BTreeSet::from([format!("check {check}\n{last_lines}")]);
                self.send_back(no, round, vec![check.clone()]);
            }
            Event::CheckBroken { check, .. } => {
                let check = check.clone();
                self.tasks[no].state = TaskState::Running(Activity::BrokenCheck { check });
            }
            _ => {
                // Earlier failures are mended, so that the next one is equal to none.
                self.tasks[no].passed_after = self.tasks[no].rounds.len();
                self.checked(no);
            }
        }
    }

    fn end_review(&mut self, no: usize, seat: usize, end: &TurnEnd) {
        let lines = self.tasks[no]
            .new
            .as_ref()
            .map_or(0, |new| new.acceptance.len());
        match end {
            TurnEnd::Verdict(Verdict::Accept { evidence })
                if *evidence > 0 && *evidence >= lines =>
            {
                self.note_check(no);
                self.complete(no, DoneBy::Judge);
            }
            TurnEnd::Verdict(Verdict::SendBack(findings)) if !findings.is_empty() => {
                // The last round of findings, checks left out.
                let rounds = &self.tasks[no].rounds;
                let is_check =
                    |round: &&BTreeSet<String>| round.iter().any(|it| it.starts_with("check "));
                let last = rounds.iter().rev().find(|round| !is_check(round));
                let is_first = last.is_none();
                let last = last.cloned().unwrap_or_default();
                let mut counted = BTreeSet::new();
                for finding in findings {
                    let old = is_first || last.contains(&finding.id) || finding.regression;
                    if old && finding.severity == Severity::Blocker {
                        counted.insert(finding.id.clone());
                    }
                }
                if counted.is_empty() {
                    self.note_check(no);
                    self.complete(no, DoneBy::Judge);
                } else {
                    let about = counted.iter().cloned().collect();
                    self.send_back(no, counted, about);
                }
            }
            end => {
                let fails = matches!(
                    end,
                    TurnEnd::Failed
                        | TurnEnd::WithoutReport {
                            listed_tools: false
                        }
                );
                if !fails && !self.tasks[no].judge_reminded {
                    self.tasks[no].judge_reminded = true;
                    return self.queue(seat, no, Prompt::Reminder);
                }
                self.tasks[no].misses += 1;
                if self.tasks[no].misses == 1 {
                    self.review(no, self.review_prompt(no));
                } else {
                    self.break_judge(no);
                }
            }
        }
    }

    fn send_back(&mut self, no: usize, round: BTreeSet<String>, about: Vec<String>) {
        if self.tasks[no].kind == TaskKind::Check {
            self.goal_rounds.push(round);
            self.goal_judge = self.tasks[no].judge;
            self.fail(no, FailReason::SentBack, about);
            if self.goal_rounds.len() >= self.limits.failed_checks as usize {
                self.stick(StuckCause::CheckRejected);
            }
            if self.stop != Some(GoalState::Stuck(StuckCause::CheckRejected)) {
                self.request_plan();
            }
            return;
        }
        let task = &mut self.tasks[no];
        task.reminded = false;
        task.judge_reminded = false;
        task.misses = 0;
        task.rounds.push(round.clone());
        // Rounds of the same kind, newest first.
        let is_check = |round: &BTreeSet<String>| round.iter().any(|it| it.starts_with("check "));
        let kind = is_check(&round);
        let since = if kind { task.passed_after } else { 0 };
        let rounds = task.rounds.get(since..).unwrap_or_default();
        let same = rounds.iter().rev().filter(|it| is_check(it) == kind);
        let equal = same.take_while(|it| **it == round).count();
        if equal >= self.limits.equal_rounds as usize {
            self.fail(no, FailReason::NoProgress, about);
        } else if self.tasks[no].rounds.len() >= self.limits.rounds as usize {
            self.fail(no, FailReason::NotAccepted, about);
        } else {
            self.back(no, Prompt::Rework);
        }
    }
}
