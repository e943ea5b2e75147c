-- Inserts dependencies between tasks.
-- Each row: $1 tenant, $2 session, $3 task, $4 task on which it depends
insert into task_dependencies (tenant_id, session_id, task_id, depends_on_id)
values /* row */ ($1, $2, $3, $4)
