-- Lists the waiting runs of an automation, also those whose trigger files wait on an instance. The deferred ones come
-- before the one that holds the seat, so that the end of that one promotes none of them. The longer list of statuses is
-- redundant, but lets SQLite use the index of open runs.
-- $1 automation
select id from agent_runs
where automation_id = $1 and (status in ('queued', 'deferred') or status = 'delivered' and worker_id = 'trigger-file')
  and status in ('queued', 'deferred', 'delivered', 'running')
order by status, id
