-- Lists the artifacts of a session, the newest first.
-- $1 tenant or null, $2 the id before which to begin, $3 the beginning of the names, $4 limit, $5 session
select id, tenant_id, session_id, run_id, name, version, media_type, uri, sha256, size_bytes, instance_id, created_at
from agent_artifacts
where session_id = $5 and id < $2 and ($1 is null or tenant_id = $1)
  and substr(name, 1, length($3)) = $3
order by id desc
limit $4
