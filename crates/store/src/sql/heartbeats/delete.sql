-- Ends a run's heartbeat.
-- $1 run
delete from run_heartbeats where run_id = $1
