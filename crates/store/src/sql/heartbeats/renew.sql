-- Renews a run's heartbeat.
-- $1 run, $2 worker, $3 now
update run_heartbeats set beat_at = $3 where run_id = $1 and worker_id = $2
