//! The prompts of a goal, as the agent reads them.
//!
//! There is no model, so the agent knows each prompt by the words of its first line, and its parts by their headings.
//! Texts of other agents stand in fences. The agent takes no line of a fence for a heading.

use super::blocks::{Block, backticked, blocks};

const PLAN: &str = "Plan the work on the goal below. You make the tasks";
const REPLAN: &str = "Change the plan of the goal below. The reason: ";
const WORK: &str = "Work on the task `";
const REWORK: &str = "Your result of the task `";
const REVIEW: &str = "Judge the result of the task `";
const CHECK: &str = "Judge the whole goal below.";
const REPORT: &str = "Write the report on the goal below";
const ANSWER: &str = "Your question was answered. Go on with your work";
const MESSAGES: &str = "Messages for your seat in this session";
const REMINDER: &str = "Your turn ended without the call of `";
const REFUSED: &str = "The plan was refused. Its tasks are still staged";
const OPENINGS: [&str; 10] = [
    PLAN, REPLAN, WORK, REWORK, REVIEW, CHECK, REPORT, ANSWER, REMINDER, REFUSED,
];

/// The line of a later plan that is the first one of the planner.
const FIRST_PLAN: &str = "A person has made the tasks so far, and this is your first plan.";
/// The heading of the acceptance lines.
const ACCEPTANCE: &str = "The result has to satisfy each of these lines:";
/// The beginning of the line with the paths that a task may write.
const WRITES: &str = "Write only these paths, and below them: ";
/// The line of a task that may write no path.
const WRITES_NOTHING: &str = "Write no files of the directory.";

/// A prompt of a goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GoalPrompt {
    Plan(PlanRequest),
    /// A later plan, with the tasks that have failed.
    Replan {
        goal: String,
        failed: Vec<TaskLine>,
    },
    Work(WorkRequest),
    /// A task that was sent back, with its findings as `id: text`.
    Rework {
        key: String,
        findings: Vec<String>,
    },
    Review(ReviewRequest),
    /// The judgement of the whole goal.
    Check(Vec<TaskLine>),
    Report {
        tasks: Vec<TaskLine>,
        questions: Vec<String>,
    },
    /// The answers to the questions of a turn.
    Answer(Vec<String>),
    /// The number of messages of other seats and of people.
    Messages(usize),
    Reminder,
}

/// The request of a first plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlanRequest {
    pub(super) goal: String,
    /// The roles of tasks, in the order of the team.
    pub(super) roles: Vec<String>,
    pub(super) max_tasks: usize,
}

/// The request to work on a task.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct WorkRequest {
    pub(super) key: String,
    pub(super) title: String,
    pub(super) description: String,
    pub(super) acceptance: Vec<String>,
    /// The paths that the task may write. Empty if it may write none.
    pub(super) writes: Vec<String>,
    /// The keys and the results of the dependencies.
    pub(super) inputs: Vec<(String, String)>,
}

/// The request to judge the result of a task.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ReviewRequest {
    pub(super) key: String,
    pub(super) acceptance: Vec<String>,
    pub(super) result: String,
}

/// A task in a list of the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TaskLine {
    pub(super) status: String,
    pub(super) key: String,
    /// The title, and the result or the reason.
    pub(super) text: String,
}

impl GoalPrompt {
    /// Reads a request. Returns `None` if the request is no prompt of a goal.
    pub(super) fn parse(request: &str) -> Option<Self> {
        let blocks = blocks(request);
        let find = |openings: &[&str]| {
            let is_opening = |block: &Block<'_>| matches!(block, Block::Line(line) if openings.iter().any(|it| line.starts_with(it)));
            blocks.iter().position(is_opening)
        };
        // The instructions of the seat, a note about an interrupted attempt, or messages can precede the prompt.
        let start = find(&OPENINGS).or_else(|| find(&[MESSAGES]))?;
        let blocks = &blocks[start..];
        let Block::Line(first) = blocks[0] else {
            return None;
        };
        let has_rules = |block: &Block<'_>| matches!(block, Block::Line(FIRST_PLAN));
        let makes_first_plan =
            first.starts_with(PLAN) || first.starts_with(REPLAN) && blocks.iter().any(has_rules);
        Some(if makes_first_plan {
            Self::Plan(read_plan(blocks))
        } else if first.starts_with(REPLAN) {
            let tasks = task_lines(blocks, "Tasks that have ended follow.");
            Self::Replan {
                goal: read_goal(blocks),
                failed: tasks.into_iter().filter(TaskLine::has_failed).collect(),
            }
        } else if first.starts_with(WORK) {
            Self::Work(read_work(blocks, first))
        } else if first.starts_with(REWORK) {
            Self::Rework {
                key: key_of(first, REWORK),
                findings: fences(blocks).map(str::to_owned).collect(),
            }
        } else if first.starts_with(REVIEW) {
            Self::Review(read_review(blocks, first))
        } else if first.starts_with(CHECK) {
            Self::Check(task_lines(blocks, "The tasks with their results follow."))
        } else if first.starts_with(REPORT) {
            let questions = fence_after(blocks, "Questions of the seats follow");
            Self::Report {
                tasks: task_lines(blocks, "The tasks with their results follow."),
                questions: questions.lines().map(str::to_owned).collect(),
            }
        } else if first.starts_with(ANSWER) {
            Self::Answer(read_answers(blocks))
        } else if first.starts_with(MESSAGES) {
            Self::Messages(fences(blocks).count())
        } else {
            Self::Reminder
        })
    }

    /// Returns the title of a conversation that begins with this prompt. Returns `None` if such a prompt follows others.
    pub(super) fn title(&self) -> Option<String> {
        Some(match self {
            Self::Plan(_) | Self::Replan { .. } => "Plan the goal".to_owned(),
            Self::Work(work) => format!("Work on {}", work.key),
            Self::Rework { key, .. } => format!("Work on {key}"),
            Self::Review(review) => format!("Judge {}", review.key),
            Self::Check(_) => "Judge the goal".to_owned(),
            Self::Report { .. } => "Report on the goal".to_owned(),
            Self::Answer(_) | Self::Messages(_) | Self::Reminder => return None,
        })
    }
}

impl TaskLine {
    pub(super) fn is_done(&self) -> bool {
        self.status == "DONE"
    }

    fn has_failed(&self) -> bool {
        self.status == "FAILED"
    }

    fn parse(line: &str) -> Option<Self> {
        let (status, rest) = line.split_once(' ')?;
        let (key, text) = rest.split_once(": ")?;
        Some(Self {
            status: status.to_owned(),
            key: key.to_owned(),
            text: text.to_owned(),
        })
    }
}

/// Returns the key in the first line of a prompt.
fn key_of(first: &str, opening: &str) -> String {
    let rest = first.strip_prefix(opening).unwrap_or_default();
    rest.split('`').next().unwrap_or_default().to_owned()
}

/// Returns the texts of the fences.
fn fences<'a>(blocks: &[Block<'a>]) -> impl Iterator<Item = &'a str> {
    blocks.iter().filter_map(|block| match block {
        Block::Fence(text) => Some(*text),
        Block::Line(_) => None,
    })
}

/// Returns the text of the first fence after the line with a heading. Returns an empty text if there is none.
fn fence_after<'a>(blocks: &[Block<'a>], heading: &str) -> &'a str {
    let is_heading =
        |block: &Block<'_>| matches!(block, Block::Line(line) if line.contains(heading));
    let after = blocks.iter().position(is_heading).unwrap_or(blocks.len());
    fences(&blocks[after..]).next().unwrap_or_default()
}

fn task_lines(blocks: &[Block<'_>], heading: &str) -> Vec<TaskLine> {
    let lines = fence_after(blocks, heading).lines();
    lines.filter_map(TaskLine::parse).collect()
}

/// Returns the text of the goal.
fn read_goal(blocks: &[Block<'_>]) -> String {
    // The last of these headings counts, because the text of a goal may contain them.
    let ends = [
        FIRST_PLAN,
        "Roles of tasks:",
        "Tasks that have ended follow.",
        "Open tasks:",
        "A plan only adds tasks.",
    ];
    let lines = || blocks.iter().skip(1);
    let end = ends.iter().find_map(|end| {
        lines().rposition(|block| matches!(block, Block::Line(line) if line.starts_with(end)))
    });
    let lines = lines().take(end.unwrap_or_default());
    let lines = lines.filter_map(|block| match block {
        Block::Line(line) => Some(*line),
        Block::Fence(_) => None,
    });
    let lines: Vec<_> = lines
        .skip_while(|line| *line != "The goal:")
        .skip(1)
        .collect();
    lines.join("\n").trim().to_owned()
}

fn read_plan(blocks: &[Block<'_>]) -> PlanRequest {
    let mut roles = Vec::new();
    let mut max_tasks = 0;
    for block in blocks {
        let Block::Line(line) = block else { continue };
        if *line == "Roles of tasks:" {
            // The text of the goal may have such a heading too, but it precedes that of the prompt.
            roles.clear();
        } else if let Some(role) = line.strip_prefix("- `") {
            roles.extend(role.split_once("`, ").map(|(name, _)| name.to_owned()));
        } else if let Some(limits) = line.strip_prefix("Limits: ") {
            let number = limits.split(' ').next().unwrap_or_default();
            max_tasks = number.parse().unwrap_or_default();
        }
    }
    PlanRequest {
        goal: read_goal(blocks),
        roles,
        max_tasks,
    }
}

/// The part of a prompt that a line belongs to.
#[derive(Debug, Clone, Copy)]
enum Part {
    Description,
    Acceptance,
    Rest,
}

fn read_work(blocks: &[Block<'_>], first: &str) -> WorkRequest {
    let title = first.split_once("`: ").map_or("", |(_, title)| title);
    let mut work = WorkRequest {
        key: key_of(first, WORK),
        title: title.to_owned(),
        ..WorkRequest::default()
    };
    let mut description = Vec::new();
    let mut part = Part::Description;
    // The key of the dependency whose result follows.
    let mut input = None;
    for block in &blocks[1..] {
        match (block, part) {
            (Block::Line(line), _) if *line == ACCEPTANCE => part = Part::Acceptance,
            (Block::Line(line), _) if line.starts_with(WRITES) => {
                work.writes = backticked(line).map(str::to_owned).collect();
                part = Part::Rest;
            }
            (Block::Line(line), _) if *line == WRITES_NOTHING => part = Part::Rest,
            (Block::Line(line) | Block::Fence(line), Part::Description) => description.push(*line),
            (Block::Line(line), Part::Acceptance) => {
                work.acceptance
                    .extend(line.strip_prefix("- ").map(str::to_owned));
            }
            (Block::Line(line), Part::Rest) if !line.is_empty() => {
                let heading = line.strip_prefix("The result of the task `");
                let heading = heading.and_then(|rest| rest.split_once("` follows."));
                input = heading.map(|(key, _)| key.to_owned());
            }
            (Block::Fence(text), Part::Rest) => {
                let key = input.take();
                work.inputs.extend(key.map(|key| (key, (*text).to_owned())));
            }
            _ => {}
        }
    }
    let description = description.join("\n");
    WorkRequest {
        description: description.trim().to_owned(),
        ..work
    }
}

fn read_review(blocks: &[Block<'_>], first: &str) -> ReviewRequest {
    let is_acceptance =
        |block: &Block<'_>| matches!(block, Block::Line(line) if *line == ACCEPTANCE);
    let lines = blocks.iter().skip_while(|block| !is_acceptance(block));
    let lines = lines.skip(1).map_while(|block| match block {
        // Each line has its number before it.
        Block::Line(line) => line.split_once(". ").map(|(_, line)| line.to_owned()),
        Block::Fence(_) => None,
    });
    ReviewRequest {
        key: key_of(first, REVIEW),
        acceptance: lines.collect(),
        result: fence_after(blocks, "Its result follows.").to_owned(),
    }
}

fn read_answers(blocks: &[Block<'_>]) -> Vec<String> {
    let mut answers: Vec<String> = Vec::new();
    let mut is_in_answer = false;
    for block in blocks {
        match block {
            Block::Line(line) if line.starts_with(ANSWER) => is_in_answer = false,
            Block::Line(line)
                if !is_in_answer
                    && (line.starts_with("The answer of ")
                        || line.starts_with("No person answered until the deadline")) =>
            {
                is_in_answer = true;
                answers.push(String::new());
            }
            Block::Line(line) if is_in_answer => {
                if let Some(answer) = answers.last_mut() {
                    answer.push_str(line);
                    answer.push('\n');
                }
            }
            _ => {}
        }
    }
    let answers = answers.iter().map(|answer| answer.trim().to_owned());
    answers.collect()
}
