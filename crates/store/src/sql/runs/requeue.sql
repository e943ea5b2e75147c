-- Requeues a claimed run that has not begun.
-- $1 id
update agent_runs set status = 'queued', worker_id = null, claimed_at = null, reason = null, message = null
where id = $1 and status = 'delivered'
