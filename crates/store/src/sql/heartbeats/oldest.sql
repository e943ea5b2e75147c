-- Says when the oldest heartbeat was.
select min(beat_at) as at from run_heartbeats
