-- Reads the newest result that the work on a task has reported.
-- $1 task
select status, body from task_reports
where task_id = $1 and kind = 'result'
order by updated_at desc, input_id desc
limit 1
