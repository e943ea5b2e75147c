//! The format of stored documents.

use model::{InstanceId, seat::SeatDirectory};

/// The format of the documents that this program writes, and the highest format that it supports.
///
/// Format 1 has the keys that programs wrote before formats existed, so that those programs read documents of format 1.
/// Format 2 has limits of minutes in budgets. Format 3 has the tools of agents. Format 4
/// has the reports of runs. Format 5 has placements, which are columns, sessions whose folder is their own without a
/// path, seats with instructions or a folder of their own, and goals. Format 6 has the time limits of
/// checks, and the notifications of goals and questions. Format 7 has the requested message turns
/// and the awaited seats of goals. Format 8 has the policies of the seats of goals, the message turns of goals that wait for
/// the end of another turn, and goals whose directory is on all servers, which is a column.
pub const DOCUMENT_FORMAT: i64 = 8;

/// The format that documents need unless a key raises it. Every program supports such documents.
pub(crate) const BASE_FORMAT: i64 = 1;

/// The format of placements.
const PLACEMENT_FORMAT: i64 = 5;

/// Returns the format that a placement needs. A server below it would begin the turns on any instance.
pub(crate) const fn format_of_placement(placed_on: Option<InstanceId>) -> i64 {
    if placed_on.is_some() {
        PLACEMENT_FORMAT
    } else {
        BASE_FORMAT
    }
}

/// Returns the format that the instructions and the directory of a seat need. A server below it would send prompts without
/// the instructions, and begin the turns in the directory of the session.
pub(crate) const fn format_of_seat(directory: SeatDirectory, has_instructions: bool) -> i64 {
    match directory {
        SeatDirectory::Own => OWN_FOLDER_FORMAT,
        SeatDirectory::Shared if has_instructions => INSTRUCTIONS_FORMAT,
        SeatDirectory::Shared => BASE_FORMAT,
    }
}

/// The format that seats with instructions need.
const INSTRUCTIONS_FORMAT: i64 = 5;

/// The format that the seats of a goal need. A server below it would end the turns of tasks without moving the goal.
pub(crate) const GOAL_FORMAT: i64 = 5;

/// The format that goals need whose checks have time limits of their own. A server below it would run them for the default time.
pub(crate) const CHECK_TIMEOUT_FORMAT: i64 = 6;

/// The format that goals need whose seats have policies of their own. A server below it would take their turns with the
/// default policies.
pub(crate) const SEAT_POLICIES_FORMAT: i64 = 8;

/// The format that the seats of a goal need whose directory is on all servers. A server below it would begin their turns in
/// whatever directory it has at that path.
pub(crate) const SHARED_DIRECTORY_FORMAT: i64 = 8;

/// The format that seats need whose turns run in a folder of their own or of their session.
pub(crate) const OWN_FOLDER_FORMAT: i64 = 5;

/// Returns `true` if this program supports a document that needs a format.
pub(crate) const fn supports_format(needs_format: i64) -> bool {
    needs_format <= DOCUMENT_FORMAT
}
