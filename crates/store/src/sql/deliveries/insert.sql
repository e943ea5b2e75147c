-- Makes deliveries. The unique index refuses a second one of an event to an endpoint.
-- Each row: $1 id, $2 tenant, $3 endpoint, $4 session or null, $5 event, $6 kind, $7 body, $8 now
insert into webhook_deliveries
    (id, tenant_id, endpoint_id, session_id, event_id, kind, body, state, next_attempt_at, created_at)
values ($1, $2, $3, $4, $5, $6, $7, 'pending', $8, $8)
