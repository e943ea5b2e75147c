-- Releases a key without a recorded response.
-- $1 tenant, $2 key
delete from idempotency_keys
where tenant_id = $1 and key = $2 and status is null
