-- Records that a server serves a data folder from now on. Changes no row if another server has begun to serve the
-- folder since the caller read the previous one.
-- :instance, :worker, :version version of the program, :schema_version version of the schema that it knows,
-- :now, :worker_before worker that served it before, or null, :format highest format that it supports,
-- :zone_rules edition of its zone rules
insert into servers (instance_id, worker_id, version, schema_version, started_at, seen_at, format,
    zone_rules, zone_rules_worker)
values (:instance, :worker, :version, :schema_version, :now, :now, :format, :zone_rules, :worker)
on conflict (instance_id) do update
set worker_id = excluded.worker_id, version = excluded.version, schema_version = excluded.schema_version,
    started_at = excluded.started_at, seen_at = excluded.seen_at, stopped_at = null, format = excluded.format,
    zone_rules = excluded.zone_rules, zone_rules_worker = excluded.zone_rules_worker
where servers.worker_id = :worker_before
