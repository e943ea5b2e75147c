//! The seats of a new session: how many there are, their names, and the one that takes inputs without a seat.

use std::collections::BTreeSet;

use api_types::SeatRequest;
use model::{
    AgentId, limits,
    seat::{SeatDirectory, is_plain_name, is_reserved_name, names_of_roles},
};
use store::NewSeat;

use crate::Error;

/// The accepted forms of roles and names.
const PLAIN_NAME: &str = "accepted are 1 to 40 lower-case letters, digits and hyphens, the first a letter and the last no \
                          hyphen, except `all` and `person`";

/// A seat of a new session, whose agent is not checked yet.
#[derive(Debug)]
pub(crate) struct PlannedSeat<'a> {
    /// The position of the request in the list.
    pub(crate) index: usize,
    /// The request, which may stand for several seats.
    pub(crate) request: &'a SeatRequest,
    name: String,
}

impl PlannedSeat<'_> {
    /// Returns the seat with its agent.
    pub(crate) fn into_new_seat(self, agent: AgentId) -> NewSeat {
        let request = self.request;
        NewSeat {
            role: request.role.clone(),
            name: self.name,
            agent,
            settings: request.settings.clone().into(),
            directory: request.directory.unwrap_or(SeatDirectory::Shared),
            instructions: request.instructions.clone(),
        }
    }
}

/// Returns the seats that a list describes, the entry seat first and the others in order.
///
/// # Errors
///
/// Returns an error that names the field if the list is empty or too long, if a value is invalid, if two seats have one
/// name, or if more than one seat is the entry.
pub(crate) fn plan_seats(requests: &[SeatRequest]) -> Result<Vec<PlannedSeat<'_>>, Error> {
    // 1. Check each request, and repeat those that stand for several seats.
    let mut seats = Vec::new();
    for (index, request) in requests.iter().enumerate() {
        let count = check_request(index, request)?;
        seats.extend(std::iter::repeat_n((index, request), count));
    }
    if seats.is_empty() || seats.len() > limits::SEATS_PER_SESSION {
        let problem = format!("accepted are 1 to {} seats", limits::SEATS_PER_SESSION);
        return Err(Error::invalid("seats", &seats.len().to_string(), problem));
    }
    // 2. Name the seats.
    let unnamed = seats.iter().filter(|(_, request)| request.name.is_none());
    let roles: Vec<&str> = unnamed.map(|(_, request)| request.role.as_str()).collect();
    let mut names = names_of_roles(&roles).into_iter();
    let mut used = BTreeSet::new();
    let mut planned = Vec::with_capacity(seats.len());
    for (index, request) in seats {
        let (field, name) = match &request.name {
            Some(name) => ("name", name.clone()),
            None => ("role", names.next().unwrap_or_default()),
        };
        let field = format!("seats[{index}].{field}");
        if !is_plain_name(&name) {
            let problem =
                "the name of the seat, the role with a number, has more than 40 characters";
            return Err(Error::invalid(field, &name, problem));
        }
        if !used.insert(name.clone()) {
            let problem = "another seat has this name; accepted are different names";
            return Err(Error::invalid(field, &name, problem));
        }
        planned.push(PlannedSeat {
            index,
            request,
            name,
        });
    }
    // 3. Move the entry seat to the front.
    let mut entries = requests.iter().enumerate().filter(|(_, seat)| seat.entry);
    if let Some((entry, _)) = entries.next() {
        if let Some((other, _)) = entries.next() {
            let problem = format!("`seats[{entry}]` is the entry; accepted is one entry");
            let field = format!("seats[{other}].entry");
            return Err(Error::invalid(field, "true", problem));
        }
        planned.sort_by_key(|seat| seat.index != entry);
    }
    Ok(planned)
}

/// Checks the fields of a seat, and returns the number of seats for which it stands.
fn check_request(index: usize, request: &SeatRequest) -> Result<usize, Error> {
    let field = |name: &str| format!("seats[{index}].{name}");
    let is_accepted = |name: &str| is_plain_name(name) && !is_reserved_name(name);
    if !is_accepted(&request.role) {
        return Err(Error::invalid(field("role"), &request.role, PLAIN_NAME));
    }
    let given = request.count.unwrap_or(1);
    let count = usize::try_from(given).unwrap_or(usize::MAX);
    if count == 0 || count > limits::SEATS_PER_SESSION {
        let problem = format!("accepted are 1 to {}", limits::SEATS_PER_SESSION);
        return Err(Error::invalid(field("count"), &given.to_string(), problem));
    }
    if let Some(name) = &request.name {
        if !is_accepted(name) {
            return Err(Error::invalid(field("name"), name, PLAIN_NAME));
        }
        if count > 1 {
            let problem = "a `count` above 1 excludes it, because names are unique";
            return Err(Error::invalid(field("name"), name, problem));
        }
    }
    if request.entry && count > 1 {
        let problem = "a `count` above 1 excludes it, because one seat is the entry";
        return Err(Error::invalid(field("entry"), "true", problem));
    }
    if let Some(instructions) = &request.instructions {
        if instructions.trim().is_empty() {
            return Err(Error::invalid(
                field("instructions"),
                instructions,
                "it is empty",
            ));
        }
        if instructions.len() > limits::INSTRUCTIONS_BYTES {
            let problem = format!(
                "it has {} bytes, accepted are up to {}",
                instructions.len(),
                limits::INSTRUCTIONS_BYTES
            );
            return Err(Error::invalid(field("instructions"), instructions, problem));
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seat(role: &str) -> SeatRequest {
        SeatRequest {
            role: role.into(),
            agent: "good".into(),
            ..SeatRequest::default()
        }
    }

    fn names(requests: &[SeatRequest]) -> Vec<String> {
        let planned = plan_seats(requests).unwrap();
        planned.into_iter().map(|seat| seat.name).collect()
    }

    #[test]
    fn invalid_seat_is_refused_with_its_field() {
        let long = "x".repeat(limits::INSTRUCTIONS_BYTES + 1);
        let named = |name: &str| SeatRequest {
            name: Some(name.into()),
            ..seat("worker")
        };
        let counted = |count| SeatRequest {
            count: Some(count),
            ..seat("worker")
        };
        let instructed = |text: &str| SeatRequest {
            instructions: Some(text.into()),
            ..seat("worker")
        };
        let entry = || SeatRequest {
            entry: true,
            ..seat("worker")
        };
        let cases = [
            (vec![], "seats", "1 to 16 seats"),
            (vec![counted(10), counted(7)], "seats", "1 to 16 seats"),
            (
                vec![seat("planner"), seat("")],
                "seats[1].role",
                "lower-case",
            ),
            (vec![seat("Worker")], "seats[0].role", "lower-case"),
            (vec![seat("../up")], "seats[0].role", "lower-case"),
            (vec![seat(&"x".repeat(41))], "seats[0].role", "1 to 40"),
            (vec![seat("person")], "seats[0].role", "except `all`"),
            (vec![named("all")], "seats[0].name", "except `all`"),
            (vec![named("a b")], "seats[0].name", "lower-case"),
            (vec![counted(0)], "seats[0].count", "1 to 16"),
            (vec![counted(u32::MAX)], "seats[0].count", "1 to 16"),
            (
                vec![named("a"), named("a")],
                "seats[1].name",
                "different names",
            ),
            (
                vec![named("judge"), seat("judge")],
                "seats[1].role",
                "different names",
            ),
            (
                vec![SeatRequest {
                    count: Some(2),
                    ..named("a")
                }],
                "seats[0].name",
                "excludes",
            ),
            (
                vec![SeatRequest {
                    entry: true,
                    ..counted(2)
                }],
                "seats[0].entry",
                "excludes",
            ),
            (
                vec![entry(), entry()],
                "seats[1].entry",
                "`seats[0]` is the entry",
            ),
            (
                vec![SeatRequest {
                    count: Some(2),
                    ..seat(&"x".repeat(40))
                }],
                "seats[0].role",
                "more than 40",
            ),
            (vec![instructed(" \n")], "seats[0].instructions", "empty"),
            (
                vec![instructed(&long)],
                "seats[0].instructions",
                "up to 16384",
            ),
        ];
        for (requests, field, says) in cases {
            let error = plan_seats(&requests).unwrap_err();
            assert_eq!(error.field(), Some(field), "{error}");
            assert!(error.to_string().contains(says), "{error}");
        }
    }

    #[test]
    fn seats_are_named_by_role_and_number() {
        let workers = SeatRequest {
            count: Some(2),
            ..seat("worker")
        };
        let third = seat("worker");
        let writer = SeatRequest {
            name: Some("writer".into()),
            ..seat("worker")
        };
        assert_eq!(
            names(&[seat("planner"), workers, writer, third]),
            ["planner", "worker-1", "worker-2", "writer", "worker-3"]
        );
        assert_eq!(plan_seats(&vec![seat("worker"); 16]).unwrap().len(), 16);
    }

    #[test]
    fn entry_seat_comes_first() {
        let judge = SeatRequest {
            entry: true,
            ..seat("judge")
        };
        let given = [seat("planner"), seat("worker"), judge];
        assert_eq!(names(&given), ["judge", "planner", "worker"]);
    }
}
