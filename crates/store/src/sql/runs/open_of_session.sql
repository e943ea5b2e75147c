-- Lists the runs of a session that are not over, ordered by ID.
-- $1 session
select id, automation_id, status from agent_runs
where session_id = $1 and status in ('queued', 'deferred', 'delivered', 'running')
order by id
