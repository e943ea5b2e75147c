-- All runs that have not ended.
select 'run_' || replace(id::text, '-', '') as id, status, attempt
from automation.agent_runs
where status in ('queued', 'deferred', 'delivered', 'running')
order by id
