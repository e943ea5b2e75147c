-- Changes an endpoint, where nobody else has meanwhile.
-- $1 tenant or null, $2 id, $3 when it was changed before, $4 name, $5 address, $6 events,
-- $7 automation or null, $8 channel or null, $9 now
update notification_endpoints
set name = $4, url = $5, events = $6, automation_id = $7, channel = $8, updated_at = $9
where id = $2 and updated_at = $3 and ($1 is null or tenant_id = $1)
