-- Records a server's heartbeat. No row: another server serves its data folder. Returns the schema version that a
-- program must know to go on.
-- $1 instance, $2 worker, $3 now
update servers set seen_at = $3
where instance_id = $1 and worker_id = $2
returning (select max(works_with) from schema_versions) as works_with
