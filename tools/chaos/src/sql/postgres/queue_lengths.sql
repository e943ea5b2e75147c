-- The number of waiting occurrences of each automation. Retries do not count, because they join the queue even when
-- it is full.
select 'aut_' || replace(automation_id::text, '-', '') as automation, count(*) as length
from automation.agent_runs
where status = 'deferred' and attempt = 1 and automation_id is not null
group by automation_id
