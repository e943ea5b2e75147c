-- Changes the text of an input that waits, also as a trigger file.
-- $1 run, $2 text
update agent_runs set content = $2
where id = $1 and (status in ('queued', 'deferred') or status = 'delivered' and worker_id = 'trigger-file')
