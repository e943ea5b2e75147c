-- Defers a run that has not begun, because its session or its goal is paused or a draft. A message of another agent gives back the
-- priority that it was lent, because it no longer holds its seat.
-- $1 id, $2 priority of messages of other agents
update agent_runs set status = 'deferred', worker_id = null, claimed_at = null,
    priority = case origin when 'message' then $2 else priority end
where id = $1 and status in ('queued', 'delivered')
