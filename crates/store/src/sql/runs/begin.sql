-- Begins the turn of a claimed run; no row means that the claim was lost.
-- $1 id, $2 worker, $3 now, $4 prompt reference, $5 instance
update agent_runs
set status = 'running', started_at = $3, prompt_ref = $4, instance_id = $5
where id = $1 and status = 'delivered' and worker_id = $2
