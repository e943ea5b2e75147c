-- Lists an automation's runs that wait: the deferred before the queued one, so that the end of that
-- one promotes none of them.
-- The longer list of statuses says nothing new, and lets SQLite use the index of what is open.
-- $1 automation
select id from agent_runs
where automation_id = $1 and status in ('queued', 'deferred')
  and status in ('queued', 'deferred', 'delivered', 'running')
order by status, id
