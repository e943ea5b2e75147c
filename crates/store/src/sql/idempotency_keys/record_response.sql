-- Records the response to the request of a key. Keeps a response that is already recorded.
-- $1 tenant, $2 key, $3 status, $4 body
update idempotency_keys set status = $3, response = $4
where tenant_id = $1 and key = $2 and status is null
