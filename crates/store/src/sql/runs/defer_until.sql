-- Defers a run that has not begun until an instant, with the reason. A message of another agent gives back the priority
-- that it was lent, because it no longer holds its seat.
-- $1 id, $2 instant until which it waits, $3 reason, $4 message, $5 priority of messages of other agents
update agent_runs
set status = 'deferred', worker_id = null, claimed_at = null, not_before = $2, reason = $3, message = $4,
    priority = case origin when 'message' then $5 else priority end
where id = $1 and status in ('queued', 'delivered')
