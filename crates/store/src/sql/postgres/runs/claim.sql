-- Claims queued runs for a worker, people's first: each is claimed once, whoever else asks.
-- Chosen in a part of their own, which runs once: chosen again for each row that is joined, `skip
-- locked` would give others each time, and more than the limit.
-- $1 worker, $2 now, $3 instance, $4 limit, $5 the only run to claim, or null
with chosen as materialized (
    select id from agent_runs
    where status = 'queued'
      and (instance_id is null or instance_id = $3)
      and ($5 is null or id = $5)
    order by priority, input_at, id
    limit $4
    for update skip locked
)
update agent_runs
set status = 'delivered', worker_id = $1, claimed_at = $2
from chosen
where agent_runs.id = chosen.id
returning agent_runs.id, agent_runs.tenant_id, agent_runs.attempt, agent_runs.input_at
