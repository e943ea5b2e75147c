-- Reads the instances that alone may take the turns of sessions, and that were removed.
-- Each row: $1 session
with item (id) as (values /* row */ ($1))
select item.id, i.name
from item
join agent_definitions d on d.session_id = item.id and d.is_entry
join instances i on i.tenant_id = d.tenant_id and i.id = coalesce(d.placed_on, d.instance_id) and i.state = 'gone'
