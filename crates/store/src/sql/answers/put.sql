-- Keeps the answer to the request of a key; the first one stands.
-- $1 tenant, $2 key, $3 status, $4 body
update idempotency_keys set status = $3, response = $4
where tenant_id = $1 and key = $2 and status is null
