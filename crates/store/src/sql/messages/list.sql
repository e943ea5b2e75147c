-- Returns the rows of a transcript after a sequence number. The prompt of a goal's task has the task and its seat.
-- $1 tenant or null, $2 session, $3 after, $4 limit
select m.id, m.seq, m.run_id, m.from_seat_id, m.role, m.kind, m.content, m.metadata, m.created_at,
    k.key as task_key, d.name as task_seat
from agent_messages m
left join agent_runs r on m.role = 'user' and r.id = m.run_id and r.origin = 'task'
left join agent_tasks k on k.id = r.task_id
left join agent_definitions d on d.id = r.seat_id
where m.session_id = $2 and m.seq > $3 and ($1 is null or m.tenant_id = $1)
order by m.seq
limit $4
