-- Stages a task, or replaces the staged task of that key.
-- :session, :key, :tenant, :kind, :task, :format, :needs_format, :now
insert into staged_tasks
    (session_id, key, tenant_id, number, kind, task, format, needs_format, created_at, updated_at)
values (:session, :key, :tenant,
    (select coalesce(max(number), 0) + 1 from staged_tasks where session_id = :session),
    :kind, :task, :format, :needs_format, :now, :now)
on conflict (session_id, key) do update
set kind = excluded.kind, task = excluded.task, format = excluded.format, needs_format = excluded.needs_format,
    updated_at = excluded.updated_at
