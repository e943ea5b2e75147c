-- Changes an endpoint, with optimistic locking by the instant of its last change.
-- :tenant or null, :id, :changed_before when it was changed before, :name, :url address, :events, :automation
-- or null, :channel or null, :now
update notification_endpoints
set name = :name, url = :url, events = :events, automation_id = :automation, channel = :channel, updated_at = :now
where id = :id and updated_at = :changed_before and (:tenant is null or tenant_id = :tenant)
