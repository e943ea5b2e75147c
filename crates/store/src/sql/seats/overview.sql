-- Lists a session's seats, the oldest first, with the names of their agents and of the instances on which their turns run.
-- Their turns include those that tasks have in memories of their own.
-- `is_busy` is true if a run holds the seat.
-- $1 tenant or null, $2 session
select d.id, d.tenant_id, d.session_id, d.role, d.name, d.harness_id, d.instructions, d.is_entry, d.directory,
    d.instance_id, d.placed_on, d.acp_session_id, d.turns + (
        select cast(coalesce(sum(m.turns), 0) as bigint) from task_memories m where m.seat_id = d.id
    ) as turns,
    d.usage, d.settings, d.format, d.needs_format, d.updated_at,
    h.name as agent_name, i.name as instance_name, exists (
        select 1 from agent_runs r where r.seat_id = d.id and r.status in ('queued', 'delivered', 'running')
    ) as is_busy
from agent_definitions d
join harnesses h on h.id = d.harness_id
left join instances i on i.tenant_id = d.tenant_id and i.id = coalesce(d.placed_on, d.instance_id)
where d.session_id = $2 and ($1 is null or d.tenant_id = $1)
order by d.id
