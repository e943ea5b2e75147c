-- Lists the runs of an automation that are not over, ordered by ID.
-- $1 automation
select id from agent_runs
where automation_id = $1 and status in ('queued', 'deferred', 'delivered', 'running')
order by id
