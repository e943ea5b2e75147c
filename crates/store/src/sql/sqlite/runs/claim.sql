-- Claims queued runs for a worker, people's first: each is claimed once, whoever else asks.
-- $1 worker, $2 now, $3 instance, $4 limit, $5 the only run to claim, or null
update agent_runs
set status = 'delivered', worker_id = $1, claimed_at = $2
where status = 'queued' and id in (
    select id from agent_runs
    where status = 'queued'
      and (instance_id is null or instance_id = $3)
      and ($5 is null or id = $5)
    order by priority, input_at, id
    limit $4
)
returning id, tenant_id, attempt, input_at
