-- Claims one queued run for a worker, unless somebody else has or its memory lies on another instance.
-- $1 worker, $2 now, $3 instance, $4 run
update agent_runs
set status = 'delivered', worker_id = $1, claimed_at = $2
where id = $4 and status = 'queued' and (instance_id is null or instance_id = $3)
returning id, tenant_id, attempt, input_at
