-- Inserts tasks of a goal.
-- :id, :tenant, :session, :role, :title, :description, :status, :started, :ended, :number, :key, :kind, :plan_version,
-- :unmet, :priority, :optional, :review, :step, :seat, :reason, :acceptance, :checks, :writes, :digest, :attempts, :rounds,
-- :progress, :now
insert into agent_tasks
    (id, tenant_id, session_id, role, title, description, status, started_at, ended_at, number, key, kind, plan_version,
     unmet, priority, optional, review, step, seat_id, reason, acceptance, checks, writes, digest, attempts, rounds,
     progress, created_at, updated_at)
values /* row */ (:id, :tenant, :session, :role, :title, :description, :status, :started, :ended, :number, :key, :kind, :plan_version, :unmet, :priority, :optional, :review, :step, :seat, :reason, :acceptance, :checks, :writes, :digest, :attempts, :rounds, :progress, :now, :now)
