//! The checks that each task of a worker has, although its planner does not name them.

use model::{
    goal::{Event, TurnEnd, WORKER},
    team::TeamDefinition,
};

/// The name of such a check, alone or with a number behind a hyphen.
const VERIFY: &str = "verify";

/// Adds the checks `verify`, `verify-2` and so on of the team to the new tasks of workers in a plan.
pub(super) fn add_verification(event: &mut Event, team: &TeamDefinition) {
    let (Event::TurnEnded {
        end: TurnEnd::Planned(plan),
        ..
    }
    | Event::Publish { plan, .. }) = event
    else {
        return;
    };
    let added: Vec<_> = team
        .checks
        .keys()
        .filter(|name| is_verification(name))
        .collect();
    for task in plan.tasks.iter_mut().filter(|task| task.role == WORKER) {
        for name in &added {
            if !task.checks.contains(name) {
                task.checks.push((*name).clone());
            }
        }
    }
}

fn is_verification(name: &str) -> bool {
    name.strip_prefix(VERIFY).is_some_and(|rest| {
        let number = rest.strip_prefix('-').map(str::parse::<u32>);
        rest.is_empty() || matches!(number, Some(Ok(_)))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use model::{
        goal::{NewTask, Plan},
        team::{CheckDefinition, TeamLimits},
    };

    use super::*;

    #[test]
    fn tasks_of_workers_get_verification_once() {
        let names = ["verify", "verify-2", "verify-all", "tests"];
        let checks = names.map(|name| (name.to_owned(), CheckDefinition::new("true")));
        let team = TeamDefinition {
            name: "own".into(),
            limits: TeamLimits::default(),
            checks: BTreeMap::from(checks),
            seats: Vec::new(),
        };
        let mut named = NewTask::new("a", WORKER);
        named.checks = vec!["verify-2".into(), "tests".into()];
        let tasks = vec![
            named,
            NewTask::new("b", WORKER),
            NewTask::new("c", "researcher"),
        ];
        let mut event = Event::Publish {
            version: 0,
            plan: Plan {
                tasks,
                drops: Vec::new(),
            },
        };
        add_verification(&mut event, &team);
        add_verification(&mut event, &team);
        let Event::Publish { plan, .. } = event else {
            panic!("another event");
        };
        let checks: Vec<_> = plan
            .tasks
            .iter()
            .map(|task| task.checks.join(" "))
            .collect();
        assert_eq!(checks, ["verify-2 tests verify", "verify verify-2", ""]);
    }
}
