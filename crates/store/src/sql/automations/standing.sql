-- Counts an automation's own runs: those that hold a seat, and those that wait.
-- $1 automation
select
    count(*) filter (where status in ('delivered', 'running')) as executing,
    count(*) filter (where status = 'queued') as queued,
    count(*) filter (where status = 'deferred') as deferred
from agent_runs
where automation_id = $1 and status in ('queued', 'deferred', 'delivered', 'running')
