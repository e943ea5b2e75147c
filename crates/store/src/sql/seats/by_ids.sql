-- Returns seats by ID. `is_of_goal` is true if the session of the seat has a goal.
-- Each row: $1 id
with item (id) as (values /* row */ ($1))
select id, tenant_id, session_id, role, name, harness_id, instructions, is_entry, directory, instance_id, placed_on, acp_session_id, turns, usage, settings, format, needs_format, updated_at,
    exists (select 1 from goals g where g.session_id = agent_definitions.session_id) as is_of_goal
from agent_definitions
where id in (select id from item)
