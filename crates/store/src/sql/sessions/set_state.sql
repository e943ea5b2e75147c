-- Moves a session on from the state in which it was read; no row means that it moved meanwhile.
-- $1 id, $2 state before, $3 state after, $4 reason or null, $5 ended at, or null to leave it, $6 now
update agent_sessions
set state = $3, state_reason = $4, ended_at = coalesce($5, ended_at), updated_at = $6
where id = $1 and state = $2
