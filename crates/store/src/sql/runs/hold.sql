-- Puts a run that has not begun back to wait: its session is held.
-- $1 id
update agent_runs set status = 'deferred', worker_id = null, claimed_at = null
where id = $1 and status in ('queued', 'delivered')
