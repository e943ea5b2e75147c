-- Returns the first undelivered messages of seats that have no open input for messages, in order.
-- Each row: $1 seat. $2 the highest number of messages of a seat, minus one
with item (seat_id) as (values /* row */ ($1))
select m.id, m.session_id, m.seq, m.from_seat_id, f.name as from_name, f.role as from_role, m.to_seat_id, t.name as to_name,
    m.content, m.metadata, m.input_id, m.chain_length, m.created_at, m.delivered_at
from item
join agent_messages m on m.to_seat_id = item.seat_id
join agent_definitions t on t.id = m.to_seat_id
left join agent_definitions f on f.id = m.from_seat_id
where m.delivered_at is null
    and not exists (
        select 1 from agent_runs r
        where r.seat_id = m.to_seat_id and r.origin = 'message' and r.status in ('queued', 'delivered', 'running')
    )
    and not exists (
        select 1 from agent_runs r
        where r.seat_id = m.to_seat_id and r.origin = 'message' and r.status = 'deferred'
    )
    and m.seq <= coalesce((
        select x.seq from agent_messages x
        where x.to_seat_id = item.seat_id and x.delivered_at is null
        order by x.seq
        limit 1 offset $2
    ), m.seq)
order by m.to_seat_id, m.seq
