-- Returns the end of a token and of the one that signed its browser in, and keeps the first from being revoked until the
-- transaction ends. A revocation of the second one revokes both. The lock is shared, so that a token makes several others
-- at once.
-- $1 tenant or null, $2 id
select t.expires_at, t.revoked_at, p.expires_at as parent_expires_at, p.revoked_at as parent_revoked_at
from api_tokens t
left join api_tokens p on p.id = t.parent_id
where t.id = $2 and ($1 is null or t.tenant_id = $1)
for share of t
