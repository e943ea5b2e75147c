-- All runs that have not ended, each as JSON.
select json_object('id', 'run_' || lower(hex(id)), 'status', status, 'attempt', attempt)
from agent_runs
where status in ('queued', 'deferred', 'delivered', 'running')
order by id
