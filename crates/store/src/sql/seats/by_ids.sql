-- Returns seats by ID. `is_of_goal` is true if the session of the seat has a goal. `files_on_one_server` is true if the seat
-- shares a directory that is not on all servers, `goal_is_paused` if a person has paused that goal.
-- Each row: $1 id
with item (id) as (values /* row */ ($1))
select id, tenant_id, session_id, role, name, harness_id, instructions, is_entry, directory, instance_id, placed_on, acp_session_id, turns, usage, settings, format, needs_format, updated_at,
    exists (select 1 from goals g where g.session_id = agent_definitions.session_id) as is_of_goal,
    directory = 'shared' and not exists (
        select 1 from goals g where g.session_id = agent_definitions.session_id and g.on_all_servers
    ) as files_on_one_server,
    exists (
        select 1 from goals g
        where g.session_id = agent_definitions.session_id and g.state = 'paused' and g.reason = 'person'
    ) as goal_is_paused
from agent_definitions
where id in (select id from item)
