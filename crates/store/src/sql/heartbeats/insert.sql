-- Inserts a run's heartbeat when a worker claims the run.
-- $1 run, $2 tenant, $3 worker, $4 now
insert into run_heartbeats (run_id, tenant_id, worker_id, beat_at) values /* row */ ($1, $2, $3, $4)
on conflict (run_id) do update set worker_id = excluded.worker_id, beat_at = excluded.beat_at
