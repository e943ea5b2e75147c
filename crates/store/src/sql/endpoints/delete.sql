-- Removes an endpoint with all its deliveries.
-- $1 tenant or null, $2 id
delete from notification_endpoints where id = $2 and ($1 is null or tenant_id = $1)
