-- Requeues a claimed run that has not begun, because this server does not have its directory.
-- $1 id, $2 reason, $3 message
update agent_runs set status = 'queued', worker_id = null, claimed_at = null, reason = $2, message = $3
where id = $1 and status = 'delivered'
