-- Inserts deliveries. The unique index refuses a second delivery of an event to an endpoint.
-- Each row: :id, :tenant, :endpoint, :session or null, :event, :kind, :body, :now
insert into webhook_deliveries
    (id, tenant_id, endpoint_id, session_id, event_id, kind, body, state, next_attempt_at, created_at)
values /* row */ (:id, :tenant, :endpoint, :session, :event, :kind, :body, 'pending', :now, :now)
