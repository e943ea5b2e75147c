-- Enables an endpoint, which then receives notifications of later events only.
-- $1 tenant or null, $2 id, $3 cursor in the feed, $4 now
update notification_endpoints
set disabled_at = null, disabled_reason = null, failing_since = null, cursor = $3, updated_at = $4
where id = $2 and disabled_at is not null and ($1 is null or tenant_id = $1)
