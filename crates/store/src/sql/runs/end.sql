-- Ends a run from the status in which it was read; no row means that it moved meanwhile, and that
-- whoever asks has lost it.
-- $1 id, $2 status before, $3 status after, $4 now, $5 reason, $6 message, $7 stop reason,
-- $8 flags, $9 usage, $10 agent's session id
update agent_runs
set status = $3, ended_at = $4, reason = $5, message = $6, stop_reason = $7, flags = $8,
    usage = coalesce($9, usage), acp_session_id = $10
where id = $1 and status = $2
