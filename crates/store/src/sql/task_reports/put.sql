-- Stores the report of a turn, or replaces it.
-- :input, :tenant, :session, :task, :run, :kind, :status, :body, :format, :needs_format, :now
insert into task_reports
    (input_id, tenant_id, session_id, task_id, run_id, kind, status, body, format, needs_format, created_at, updated_at)
values (:input, :tenant, :session, :task, :run, :kind, :status, :body, :format, :needs_format, :now, :now)
on conflict (input_id) do update
set run_id = excluded.run_id, kind = excluded.kind, status = excluded.status, body = excluded.body,
    format = excluded.format, needs_format = excluded.needs_format, updated_at = excluded.updated_at
