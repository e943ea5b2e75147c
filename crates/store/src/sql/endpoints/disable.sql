-- Disables an endpoint. A disabled endpoint keeps its reason.
-- $1 tenant or null, $2 id, $3 reason, $4 now
update notification_endpoints
set disabled_at = $4, disabled_reason = $3, updated_at = $4
where id = $2 and disabled_at is null and ($1 is null or tenant_id = $1)
