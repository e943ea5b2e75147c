-- Lists a session's seats, the oldest first. Their turns include those that tasks have in memories of their own.
-- $1 tenant or null, $2 session
select id, tenant_id, session_id, role, name, harness_id, instructions, is_entry, directory, instance_id, placed_on, acp_session_id,
    d.turns + (
        select cast(coalesce(sum(m.turns), 0) as bigint) from task_memories m where m.seat_id = d.id
    ) as turns,
    usage, settings, format, needs_format, updated_at
from agent_definitions d
where session_id = $2 and ($1 is null or tenant_id = $1)
order by id
