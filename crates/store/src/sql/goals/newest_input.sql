-- Reads the input of the newest turn of a task.
-- $1 session, $2 task
select input_id from agent_runs where session_id = $1 and task_id = $2 order by id desc limit 1
