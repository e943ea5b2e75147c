-- Saves a version of an artifact.
-- :id, :tenant, :session, :run, :name, :version, :media_type, :uri, :hash, :size_bytes, :instance, :now
insert into agent_artifacts (id, tenant_id, session_id, run_id, name, version, media_type, uri, sha256, size_bytes, instance_id, created_at)
values (:id, :tenant, :session, :run, :name, :version, :media_type, :uri, :hash, :size_bytes, :instance, :now)
