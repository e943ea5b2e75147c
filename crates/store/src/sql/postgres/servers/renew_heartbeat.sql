-- Records a server's heartbeat. Returns the schema version that a program must know to continue. Returns no row if
-- another server serves the data folder.
-- $1 instance, $2 worker, $3 now
update servers set seen_at = $3
where instance_id = $1 and worker_id = $2
returning (select max(works_with) from schema_versions) as works_with
