-- Lists runs whose heartbeat is too old.
-- $1 oldest instant that is not stale, $2 limit
select run_id, worker_id from run_heartbeats where beat_at < $1 order by run_id limit $2
