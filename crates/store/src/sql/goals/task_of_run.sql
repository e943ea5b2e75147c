-- Reads the task and the input of a run.
-- $1 run
select task_id, input_id from agent_runs where id = $1 and task_id is not null
