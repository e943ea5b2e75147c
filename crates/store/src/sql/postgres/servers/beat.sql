-- Notes that a server is still there; no row means that another one serves its data folder now. Says which
-- version of the schema a program must know to go on.
-- $1 instance, $2 worker, $3 now
update servers set seen_at = $3
where instance_id = $1 and worker_id = $2
returning (select max(works_with) from schema_versions) as works_with
