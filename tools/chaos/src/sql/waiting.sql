-- How many occurrences wait for each automation. Further attempts at what has run already are none of them.
select 'aut_' || replace(automation_id::text, '-', '') as automation, count(*) as waiting
from automation.agent_runs
where status = 'deferred' and attempt = 1 and automation_id is not null
group by automation_id
