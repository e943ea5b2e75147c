-- Lists the waiting runs of an automation. The deferred ones come before the queued one, so that the end of the
-- queued one promotes none of them. The longer list of statuses is redundant, but lets SQLite use the index of open
-- runs.
-- $1 automation
select id from agent_runs
where automation_id = $1 and status in ('queued', 'deferred')
  and status in ('queued', 'deferred', 'delivered', 'running')
order by status, id
