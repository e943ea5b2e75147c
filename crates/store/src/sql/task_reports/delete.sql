-- Deletes the report of a turn.
-- $1 input
delete from task_reports where input_id = $1
