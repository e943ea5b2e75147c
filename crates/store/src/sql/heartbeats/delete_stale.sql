-- Deletes a heartbeat if it is still stale. Changes no row if the worker has renewed the heartbeat in the meantime.
-- $1 run, $2 oldest instant that is not stale
delete from run_heartbeats where run_id = $1 and beat_at < $2
