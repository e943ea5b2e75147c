-- Advances an endpoint's cursor from the value that was read. The cursor is the fence: a second process changes no
-- row, and so creates no second delivery of an event.
-- $1 id, $2 previous cursor, $3 new cursor
update notification_endpoints
set cursor = $3
where id = $1 and cursor = $2 and disabled_at is null
