-- Deletes an endpoint; its deliveries are deleted with it.
-- $1 tenant or null, $2 id
delete from notification_endpoints where id = $2 and ($1 is null or tenant_id = $1)
