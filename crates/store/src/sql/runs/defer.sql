-- Defers a run that has not begun, because its session is paused or a draft.
-- $1 id
update agent_runs set status = 'deferred', worker_id = null, claimed_at = null
where id = $1 and status in ('queued', 'delivered')
