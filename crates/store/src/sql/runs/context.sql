-- Returns the names of the objects to which a run belongs, and its answer, the newest one if there are several.
-- $1 tenant or null, $2 run
select a.name as automation_name, s.title as session_title, h.name as agent_name, i.name as instance_name, (
    select m.content
    from agent_messages m
    where m.run_id = r.id and m.role = 'assistant' and m.kind = 'message'
    order by m.seq desc
    limit 1
) as answer
from agent_runs r
left join automations a on a.id = r.automation_id
left join agent_sessions s on s.id = r.session_id
left join agent_definitions d on d.id = r.seat_id
left join harnesses h on h.id = d.harness_id
left join instances i on i.tenant_id = r.tenant_id and i.id = r.instance_id
where r.id = $2 and ($1 is null or r.tenant_id = $1)
