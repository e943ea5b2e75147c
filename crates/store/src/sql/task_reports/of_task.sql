-- Reads the newest reports of a kind about a task.
-- $1 task, $2 kind, $3 limit
select status, body from task_reports where task_id = $1 and kind = $2 order by updated_at desc, input_id desc limit $3
