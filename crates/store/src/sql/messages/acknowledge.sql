-- Records the instant at which a message reached its seat. Keeps the first such instant.
-- $1 tenant, $2 id, $3 to seat, $4 now
update agent_messages set delivered_at = coalesce(delivered_at, $4)
where id = $2 and to_seat_id = $3 and tenant_id = $1
returning delivered_at
