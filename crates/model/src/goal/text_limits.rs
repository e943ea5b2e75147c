//! The longest texts and lists of a goal: of its text, of its tasks, and of the reports about them.
//!
//! Prompts are never cut, so that each text has its limit when it is written. The tools, the schemas, the reports in answers and
//! the plans of people use this table. Names with `BYTES` are lengths, and those with `MAX` are numbers of entries.

/// The longest text of a goal.
pub const GOAL_BYTES: usize = 32 << 10;

/// The longest key that a plan gives to a task.
pub const KEY_BYTES: usize = 40;
/// The longest key in a list. The key of an item has a `/` and its number, such as `/500`.
pub const REFERENCE_BYTES: usize = KEY_BYTES + 4;
/// The longest title of a task.
pub const TITLE_BYTES: usize = 120;
/// The longest description of a task.
pub const DESCRIPTION_BYTES: usize = 16 << 10;
/// The longest name of the role or of a check of a task.
pub const NAME_BYTES: usize = 40;
/// The longest acceptance line.
pub const ACCEPTANCE_BYTES: usize = 500;
/// The longest path that a task writes.
pub const PATH_BYTES: usize = 500;
/// The longest item.
pub const ITEM_BYTES: usize = 200;
/// The highest number of dependencies of a task.
pub const MAX_DEPENDS_ON: usize = 20;
/// The highest number of acceptance lines.
pub const MAX_ACCEPTANCE: usize = 10;
/// The highest number of checks of a task.
pub const MAX_CHECKS: usize = 5;
/// The highest number of paths that a task writes.
pub const MAX_WRITES: usize = 20;
/// The highest number of tasks that a task replaces.
pub const MAX_REPLACES: usize = 20;
/// The highest number of items.
pub const MAX_ITEMS: usize = 500;
/// The highest priority.
pub const MAX_PRIORITY: u8 = 9;

/// The longest result of a task.
pub const RESULT_BYTES: usize = 4 << 10;
/// The longest prose of the report of a goal.
pub const PROSE_BYTES: usize = 64 << 10;
/// The longest proposal of further work.
pub const FOLLOW_UP_BYTES: usize = 2 << 10;
/// The highest number of names of artifacts in a result.
pub const MAX_ARTIFACTS: usize = 20;
/// The longest name of an artifact in a result. Names of artifacts have up to 200 characters, of 4 bytes at most.
pub const ARTIFACT_NAME_BYTES: usize = 800;

/// The longest piece of evidence.
pub const EVIDENCE_BYTES: usize = 500;
/// The highest number of pieces of evidence.
pub const MAX_EVIDENCE: usize = 20;
/// The longest ID of a finding.
pub const FINDING_ID_BYTES: usize = 40;
/// The longest text of a finding.
pub const FINDING_BYTES: usize = 1000;
/// The highest number of findings.
pub const MAX_FINDINGS: usize = 20;
