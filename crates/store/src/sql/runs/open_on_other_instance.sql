-- Returns a row if a run of any tenant is not over and another instance has to take it or takes it.
-- $1 run, $2 instance
select 1 as found
from agent_runs
where id = $1 and instance_id <> $2 and status in ('queued', 'deferred', 'delivered', 'running')
