-- Counts an automation's own runs: those that are executed, and those that wait; and says whether
-- one of those that exclude each other holds a seat.
-- $1 automation
select
    count(*) filter (where status in ('delivered', 'running')) as executing,
    count(*) filter (where status in ('queued', 'deferred')) as waiting,
    count(*) filter (where exclusive and status <> 'deferred') as holding
from agent_runs
where automation_id = $1 and status in ('queued', 'deferred', 'delivered', 'running')
