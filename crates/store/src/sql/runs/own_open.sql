-- Lists an automation's runs that are not over, by id.
-- $1 automation
select id from agent_runs
where automation_id = $1 and status in ('queued', 'deferred', 'delivered', 'running')
order by id
