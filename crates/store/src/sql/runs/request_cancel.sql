-- Asks whoever executes a run to call it off; the first request stands.
-- $1 id, $2 now, $3 reason
update agent_runs set cancel_requested_at = $2, cancel_reason = $3
where id = $1 and status in ('delivered', 'running') and cancel_requested_at is null
