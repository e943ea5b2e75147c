-- Returns the next events of many sessions, each with its message. A session without a new event has one row without
-- an event, and a deleted session has none. Sequence numbers have no gaps, so a range of numbers limits each session.
-- Each row: $1 session, $2 after. $3 tenant or null, $4 how many of each
with item (session_id, after) as (values /* row */ ($1, $2))
select s.id as session_id, s.last_seq, e.seq, e.kind, e.ref_id, e.body, e.created_at,
    m.id as message_id, m.seq as message_seq, m.run_id as message_run_id, m.from_seat_id as message_seat_id,
    m.role as message_role, m.kind as message_kind, m.content as message_content, m.metadata as message_metadata,
    m.created_at as message_created_at, k.key as task_key, d.name as task_seat
from item
join agent_sessions s on s.id = item.session_id and ($3 is null or s.tenant_id = $3)
left join session_events e on e.session_id = s.id and e.seq > item.after and e.seq <= item.after + $4
left join agent_messages m on e.kind = 'message' and m.id = e.ref_id and m.session_id = e.session_id
left join agent_runs r on m.role = 'user' and r.id = m.run_id and r.origin = 'task'
left join agent_tasks k on k.id = r.task_id
left join agent_definitions d on d.id = r.seat_id
order by s.id, e.seq
