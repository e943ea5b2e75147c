-- Reads the agent of automations, the session in which the next turn of each runs, and the name of the instance on which
-- the turns are placed if it was removed.
-- Each row: $1 automation
with item (id) as (values /* row */ ($1))
select a.id, h.name as agent, coalesce(a.current_session_id, s.id) as session_id, i.name as removed_instance
from item
join automations a on a.id = item.id
join harnesses h on h.id = a.harness_id
left join agent_sessions s on s.tenant_id = a.tenant_id and s.session_key = a.bound_session_key
left join instances i on i.tenant_id = a.tenant_id and i.id = a.placed_on and i.state = 'gone'
