//! The positions up to which a reader has sent the text of each turn.

use model::RunId;

/// Records the position up to which the text of a turn was sent.
pub(super) fn record_sent(positions: &mut Vec<(RunId, i64)>, run: RunId, end: i64) {
    match positions.iter_mut().find(|(of, _)| *of == run) {
        Some((_, sent)) => *sent = end,
        None => positions.push((run, end)),
    }
}

/// Returns the position up to which the text of a turn was sent.
pub(super) fn sent_position(positions: &[(RunId, i64)], run: RunId) -> i64 {
    let sent = positions.iter().find(|(of, _)| *of == run);
    sent.map_or(0, |(_, position)| *position)
}
