-- Records the request to cancel a run that a worker has. The first request stays.
-- $1 id, $2 now, $3 reason
update agent_runs set cancel_requested_at = $2, cancel_reason = $3
where id = $1 and status in ('delivered', 'running') and cancel_requested_at is null
