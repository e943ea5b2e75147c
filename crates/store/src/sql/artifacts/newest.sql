-- Reads the newest version of an artifact of a session.
-- $1 tenant or null, $2 session, $3 name
select id, tenant_id, session_id, run_id, name, version, media_type, uri, sha256, size_bytes, instance_id, created_at
from agent_artifacts
where session_id = $2 and name = $3 and ($1 is null or tenant_id = $1)
order by version desc
limit 1
