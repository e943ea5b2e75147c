-- Records that a server serves a data folder from now on. Changes no row if another server has begun to serve the
-- folder since the caller read the previous one.
-- :instance, :worker, :version version of the program, :schema_version version of the schema that it knows,
-- :now, :worker_before worker that served it before, or null, :format highest format that it supports
insert into servers (instance_id, worker_id, version, schema_version, started_at, seen_at, format)
values (:instance, :worker, :version, :schema_version, :now, :now, :format)
on conflict (instance_id) do update
set worker_id = excluded.worker_id, version = excluded.version, schema_version = excluded.schema_version,
    started_at = excluded.started_at, seen_at = excluded.seen_at, stopped_at = null, format = excluded.format
where servers.worker_id = :worker_before
