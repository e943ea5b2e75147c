-- Makes an endpoint of notifications.
-- $1 id, $2 tenant, $3 name, $4 address, $5 events, $6 automation or null, $7 channel or null,
-- $8 secret, $9 the place in the feed from which it is told, $10 now
insert into notification_endpoints
    (id, tenant_id, name, url, events, automation_id, channel, secret, cursor, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)
