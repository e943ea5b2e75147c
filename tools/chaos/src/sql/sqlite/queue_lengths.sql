-- The number of waiting occurrences of each automation, each as JSON. Retries do not count, because they join the queue
-- even when it is full.
select json_object('automation', 'aut_' || lower(hex(automation_id)), 'length', count(*))
from agent_runs
where status = 'deferred' and attempt = 1 and automation_id is not null
group by automation_id
