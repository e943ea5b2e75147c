-- Deletes the dependencies of tasks, before others replace them.
-- Each row: $1 task
with item (id) as (values /* row */ ($1))
delete from task_dependencies where task_id in (select id from item)
