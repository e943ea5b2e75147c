-- Returns the undelivered messages to a seat that neither the turn of an input nor an open turn of a task carries, in order.
-- $1 seat, $2 input, $3 limit
select m.id, m.session_id, m.seq, m.from_seat_id, f.name as from_name, f.role as from_role, m.to_seat_id, t.name as to_name,
    m.content, m.metadata, m.input_id, m.chain_length, m.created_at, m.delivered_at
from agent_messages m
join agent_definitions t on t.id = m.to_seat_id
left join agent_definitions f on f.id = m.from_seat_id
where m.to_seat_id = $1 and m.delivered_at is null and (m.input_id is null or m.input_id <> $2)
    and not exists (
        select 1 from agent_runs o
        where o.input_id = m.input_id and o.origin = 'task' and o.status in ('queued', 'deferred', 'delivered', 'running')
    )
order by m.seq
limit $3
