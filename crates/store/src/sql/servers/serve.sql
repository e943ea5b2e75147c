-- Notes that a server serves a data folder from now on; no row is changed where another one has begun to since
-- it was looked who does.
-- $1 instance, $2 worker, $3 version of the program, $4 version of the schema that it knows, $5 now, $6 who did
-- before, or null, $7 highest format that it honours
insert into servers (instance_id, worker_id, version, schema_version, started_at, seen_at, format)
values ($1, $2, $3, $4, $5, $5, $7)
on conflict (instance_id) do update
set worker_id = excluded.worker_id, version = excluded.version, schema_version = excluded.schema_version,
    started_at = excluded.started_at, seen_at = excluded.seen_at, stopped_at = null, format = excluded.format
where servers.worker_id = $6
