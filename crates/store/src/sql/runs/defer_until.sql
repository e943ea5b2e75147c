-- Defers a run that has not begun until an instant, with the reason.
-- $1 id, $2 instant until which it waits, $3 reason, $4 message
update agent_runs
set status = 'deferred', worker_id = null, claimed_at = null, not_before = $2, reason = $3, message = $4
where id = $1 and status in ('queued', 'delivered')
