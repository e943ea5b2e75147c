-- Lists an automation's runs that wait: the deferred before the queued one, so that the end of that
-- one promotes none of them.
-- $1 automation
select id from agent_runs
where automation_id = $1 and status in ('queued', 'deferred')
order by status, id
