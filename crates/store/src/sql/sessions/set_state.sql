-- Changes the status of a session, only if it is still the one that was read.
-- $1 id, $2 state before, $3 state after, $4 reason or null, $5 ended at, or null to leave it, $6 now
update agent_sessions
set state = $3, state_reason = $4, ended_at = coalesce($5, ended_at), updated_at = $6
where id = $1 and state = $2
