-- Lists the subscriptions and the cursors of enabled endpoints.
select id, tenant_id, events, automation_id, channel, cursor
from notification_endpoints
where disabled_at is null
order by tenant_id, id
