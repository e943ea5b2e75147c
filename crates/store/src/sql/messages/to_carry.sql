-- Returns the messages that the turns of inputs carry: those that an earlier attempt at the input has carried, or else the
-- first undelivered ones of the seat that no open turn of a task carries.
-- Each row: $1 run, $2 seat, $3 input. $4 the highest number of messages, minus one
with item (run_id, seat_id, input_id) as (values /* row */ ($1, $2, $3))
select item.run_id, m.id, m.session_id, m.seq, m.from_seat_id, f.name as from_name, f.role as from_role, m.to_seat_id,
    t.name as to_name, m.content, m.metadata, m.input_id, m.chain_length, m.created_at, m.delivered_at
from item
join agent_messages m on m.to_seat_id = item.seat_id
join agent_definitions t on t.id = m.to_seat_id
left join agent_definitions f on f.id = m.from_seat_id
where m.delivered_at is null
    and (m.input_id = item.input_id
        or not exists (select 1 from agent_messages c where c.input_id = item.input_id))
    and not exists (
        select 1 from agent_runs r
        where r.input_id = m.input_id and r.input_id <> item.input_id and r.origin = 'task'
            and r.status in ('queued', 'deferred', 'delivered', 'running')
    )
    and m.seq <= coalesce((
        select x.seq from agent_messages x
        where x.to_seat_id = item.seat_id and x.delivered_at is null
            and not exists (
                select 1 from agent_runs r
                where r.input_id = x.input_id and r.input_id <> item.input_id and r.origin = 'task'
                    and r.status in ('queued', 'deferred', 'delivered', 'running')
            )
        order by x.seq
        limit 1 offset $4
    ), m.seq)
order by m.seq
