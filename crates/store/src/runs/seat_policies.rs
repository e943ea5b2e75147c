//! The policies that the team of a goal gives the turns of its seats.

use std::collections::{BTreeSet, HashMap};

use model::{SeatId, team::SeatPolicies};

use crate::{
    Error,
    database::Tx,
    stored::{self, goals::StoredTeam},
};

/// Reads the policies of those seats whose session has a goal that this server supports.
pub(super) async fn read_seat_policies(
    tx: &mut Tx,
    seats: BTreeSet<SeatId>,
) -> Result<HashMap<SeatId, SeatPolicies>, Error> {
    let rows = seats.iter().map(|seat| params![*seat]).collect();
    let found = tx
        .fetch_rows(sql!("goals/teams_of_seats"), rows, params![])
        .await?;
    let mut policies = HashMap::with_capacity(found.len());
    for row in &found {
        if !stored::supports_format(stored::needs_format(row)?) {
            continue;
        }
        let role: String = row.get("role")?;
        let team = stored::read::<StoredTeam>(row, "team")?.definition;
        if let Some(seat) = team.seats.into_iter().find(|seat| seat.role == role) {
            policies.insert(row.get("id")?, seat.policies);
        }
    }
    Ok(policies)
}
