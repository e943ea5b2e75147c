-- Lets the checks of a task wait for the server of an instance. Replaces those of an earlier round, whose worker is fenced.
-- :task, :tenant, :session, :seat, :instance, :now
insert into task_checks
    (task_id, tenant_id, session_id, seat_id, instance_id, status, attempt, evidence, created_at, updated_at)
values (:task, :tenant, :session, :seat, :instance, 'waiting', 0, '[]', :now, :now)
on conflict (task_id) do update
set seat_id = excluded.seat_id, instance_id = excluded.instance_id, status = 'waiting', attempt = task_checks.attempt + 1,
    worker_id = null, lease_until = null, cancel_requested_at = null, evidence = excluded.evidence,
    created_at = excluded.created_at, updated_at = excluded.updated_at, ended_at = null
