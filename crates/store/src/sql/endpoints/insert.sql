-- Inserts an endpoint.
-- :id, :tenant, :name, :url address, :events, :automation or null, :channel or null, :secret, :cursor the
-- cursor in the feed from which it receives events, :now
insert into notification_endpoints
    (id, tenant_id, name, url, events, automation_id, channel, secret, cursor, created_at, updated_at)
values (:id, :tenant, :name, :url, :events, :automation, :channel, :secret, :cursor, :now, :now)
