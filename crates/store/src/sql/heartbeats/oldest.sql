-- Returns the instant of the oldest heartbeat.
select min(beat_at) as at from run_heartbeats
