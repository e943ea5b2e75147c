//! A run whose turn may begin, and the assignment that its worker gets.

use model::{
    budget::Accounts,
    entity::{Run, Seat, Session},
    owner::RunOwner,
    permission::PermissionRules,
    prompt::RenderedPrompt,
    team::SeatPolicies,
    turn::Assignment,
};

use crate::{
    Error,
    runs::{task_memories::MemoryKey, turn_context::TurnContext},
    store::Store,
};

/// A run that a worker has, with the rows on which the start of its turn depends.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each field is a fact of its own, and all combinations exist"
)]
pub(super) struct StartCandidate {
    pub(super) run: Run,
    pub(super) session: Session,
    /// The seat, with the memory of the turn.
    pub(super) seat: Seat,
    /// The memory of the turn's task. `None` if the turn has the memory of its seat.
    pub(super) memory: Option<MemoryKey>,
    /// `true` if the seat shares a directory that is not on all servers.
    pub(super) files_on_one_server: bool,
    /// `true` if these files are those of a goal, whose seats share them.
    pub(super) shares_files_of_goal: bool,
    /// `true` if the run is the turn of a task whose goal a person has paused.
    pub(super) goal_is_paused: bool,
    /// SHA-256 of the run's secret. `None` if the start is never repeated.
    pub(super) secret: Option<[u8; 32]>,
    /// The budgets that apply to the run, with their usage so far.
    pub(super) accounts: Accounts,
    /// `true` if the directory of the run is not on this server.
    pub(super) directory_missing: bool,
    /// `true` if this server supports every document on which the turn depends.
    pub(super) is_supported: bool,
    /// `false` if the run would carry messages to its seat, and none is left.
    pub(super) has_message: bool,
}

impl StartCandidate {
    /// Returns what the worker needs to take the turn.
    pub(super) fn assign(
        self,
        store: &Store,
        context: &TurnContext,
        owner: RunOwner<'_>,
        prompt: RenderedPrompt,
    ) -> Result<Assignment, Error> {
        let agent = context.agent(&self.seat)?;
        // An automation of a goal's session has policies of its own.
        let of_seat = context.seat_policies(self.seat.id);
        let of_seat = of_seat.filter(|_| owner.automation().is_none());
        // A rule that denies outweighs all that allow, so that neither an automation nor a team lifts a denial of an agent.
        let mut permissions = agent.config.permissions.0.clone();
        permissions.extend_from_slice(of_seat.map_or(owner.permissions(), |policies| {
            policies.permissions.0.as_slice()
        }));
        Ok(Assignment {
            run: self.run,
            cwd: store.seat_directory(&self.session, &self.seat),
            session: self.session,
            seat: self.seat,
            agent,
            policies: of_seat.map_or_else(|| owner.policies().clone(), SeatPolicies::of_turn),
            permissions: PermissionRules(permissions),
            prompt,
            accounts: self.accounts,
        })
    }
}
