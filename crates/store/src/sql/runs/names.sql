-- Reads the names of the objects to which runs belong, the kind of their triggers, the beginning of their answers, the
-- newest one of each, whether their turns wait for a person, and whether for an answer. The name of a seat is null if its
-- session has no other one.
-- Each row: $1 run. $2 the maximum number of characters of an answer, $3 tenant or null
with item (id) as (values /* row */ ($1))
select r.id, a.name as automation_name, s.title as session_title, h.name as agent_name, i.name as instance_name,
    t.kind as trigger_kind, s.channel, (
    select d.name from agent_definitions other
    where other.session_id = d.session_id and other.id <> d.id
    limit 1
) as seat_name, (
    select substr(m.content, 1, cast($2 as integer))
    from agent_messages m
    where m.run_id = r.id and m.role = 'assistant' and m.kind = 'message'
    order by m.seq desc
    limit 1
) as answer, exists (
    select 1 from approvals p where p.run_id = r.id and p.state = 'pending'
    union all
    select 1 from questions q where q.run_id = r.id and q.state = 'pending' and q.kind = 'elicitation'
) as waits_for_approval, exists (
    select 1 from questions q where q.run_id = r.id and q.state = 'pending' and q.kind = 'elicitation'
) as waits_for_answer
from item
join agent_runs r on r.id = item.id and ($3 is null or r.tenant_id = $3)
left join automations a on a.id = r.automation_id
left join automation_triggers t on t.id = r.trigger_id
left join agent_sessions s on s.id = r.session_id
left join agent_definitions d on d.id = r.seat_id
left join harnesses h on h.id = coalesce(d.harness_id, a.harness_id)
left join instances i on i.tenant_id = r.tenant_id and i.id = r.instance_id
