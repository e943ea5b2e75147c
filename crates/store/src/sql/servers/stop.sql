-- Records that a server has shut down, unless another server serves its data folder.
-- $1 instance, $2 worker, $3 now
update servers set stopped_at = $3, seen_at = $3
where instance_id = $1 and worker_id = $2
