-- Returns the facts of automations for notifications.
-- Each row: $1 id
with item (id) as (values /* row */ ($1))
select id, name, pause_reason, attention
from automations
where id in (select id from item)
