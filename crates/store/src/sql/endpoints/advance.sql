-- Moves an endpoint on in the feed from the place that was read: whoever comes second moves nothing, and
-- so makes no second delivery of an event.
-- $1 id, $2 place before, $3 place after
update notification_endpoints
set cursor = $3
where id = $1 and cursor = $2 and disabled_at is null
