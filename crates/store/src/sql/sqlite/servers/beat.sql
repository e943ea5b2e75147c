-- Notes that a server is still there; no row means that another one serves its data folder now. A file has
-- no servers of other versions.
-- $1 instance, $2 worker, $3 now
update servers set seen_at = $3
where instance_id = $1 and worker_id = $2
returning 0 as works_with
