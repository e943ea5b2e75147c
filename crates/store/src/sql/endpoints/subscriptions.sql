-- Lists what the endpoints that are told of anything want, and how far they were told.
select id, tenant_id, events, automation_id, channel, cursor
from notification_endpoints
where disabled_at is null
order by tenant_id, id
