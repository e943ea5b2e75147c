-- Reads one artifact.
-- $1 tenant or null, $2 id
select id, tenant_id, session_id, run_id, name, version, media_type, uri, sha256, size_bytes, instance_id, created_at
from agent_artifacts
where id = $2 and ($1 is null or tenant_id = $1)
