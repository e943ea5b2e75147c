//! The permission requests of the agents of goals.

use model::{
    approval::OnUnmatched,
    permission::{PermissionRule, PermissionRules, Verdict},
    run::RunStatus,
    team::SeatPolicies,
};
use testkit::scripted::{Script, Step};

use super::{create_goal_with, queued_run};
use crate::{
    approvals::{decide, wait_for_pending_approval},
    permissions::permission_replies,
    world::World,
};

/// Gives the goal's agents a script that requests permission for an edit and for a command.
fn rewrite_script(world: &World) -> Script {
    let script = world.script().prompt([
        Step::request_permission("1", "notes.md", "edit"),
        Step::request_permission("2", "make", "execute"),
        Step::text("Done."),
    ]);
    script.command().unwrap();
    script
}

/// Returns rules that allow edits.
fn edits() -> PermissionRules {
    PermissionRules(vec![PermissionRule::parse("edit", Verdict::Allow).unwrap()])
}

pub(super) async fn permission_request_of_goal_waits_for_person(world: &World) {
    let policies = SeatPolicies {
        on_unmatched: OnUnmatched::RequestApproval,
        permissions: edits(),
        ..SeatPolicies::default()
    };
    let session = create_goal_with(world, &[], policies).await;
    let script = rewrite_script(world);
    let run = queued_run(world).await.unwrap();
    let decided = async {
        let approval = wait_for_pending_approval(world, run).await;
        assert_eq!(approval.request.title, "make");
        let goal = world.store().goal(world.scope(), session).await.unwrap();
        assert_eq!(goal.open_approvals, 1);
        decide(world, approval.id, Verdict::Allow).await.unwrap();
    };
    let (run, ()) = tokio::join!(world.take_turn(run), decided);
    assert_eq!(run.status(), RunStatus::Succeeded, "{run:#?}");
    assert_eq!(permission_replies(&script), ["option-allow_once"; 2]);
}

pub(super) async fn permission_request_of_goal_is_denied_by_default(world: &World) {
    let policies = SeatPolicies {
        permissions: edits(),
        ..SeatPolicies::default()
    };
    create_goal_with(world, &[], policies).await;
    let script = rewrite_script(world);
    let run = queued_run(world).await.unwrap();
    let run = world.take_turn(run).await;
    assert_eq!(run.state.flags().permissions_denied, 1);
    assert_eq!(
        permission_replies(&script),
        ["option-allow_once", "option-reject_once"]
    );
}
