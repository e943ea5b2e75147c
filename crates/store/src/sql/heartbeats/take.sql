-- Deletes a heartbeat if it is still stale. No row: it was renewed meanwhile.
-- $1 run, $2 oldest that may be
delete from run_heartbeats where run_id = $1 and beat_at < $2
