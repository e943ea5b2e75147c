-- Says who serves a data folder, or did last.
-- $1 instance
select worker_id, version, format, seen_at, stopped_at from servers where instance_id = $1
