-- Changes the text of an input that waits.
-- $1 run, $2 text
update agent_runs set content = $2
where id = $1 and status in ('queued', 'deferred')
