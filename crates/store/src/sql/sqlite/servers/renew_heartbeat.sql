-- Records a server's heartbeat. Returns no row if another server serves the data folder. A SQLite file has no servers
-- of other versions, so the schema version is 0.
-- $1 instance, $2 worker, $3 now
update servers set seen_at = $3
where instance_id = $1 and worker_id = $2
returning 0 as works_with
