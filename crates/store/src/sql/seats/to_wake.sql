-- Returns the seats that need an input for their messages: those with an undelivered message that no open input carries,
-- and without an input for messages that has not begun. A message at the end of a long chain needs an input from outside.
-- Each row: $1 seat, $2 true if the seat got an input from outside. $3 the longest chain
with item (id, from_outside) as (values /* row */ ($1, $2))
select d.id, d.tenant_id, d.session_id
from item
join agent_definitions d on d.id = item.id
where exists (
        select 1 from agent_messages m
        where m.to_seat_id = d.id and m.delivered_at is null
            and (item.from_outside or coalesce(m.chain_length, 1) <= $3)
            and not exists (
                select 1 from agent_runs r
                where r.input_id = m.input_id and r.status in ('queued', 'deferred', 'delivered', 'running')
            )
    )
    and not exists (
        select 1 from agent_runs r
        where r.seat_id = d.id and r.origin = 'message' and r.attempt = 1
            and r.status in ('queued', 'deferred', 'delivered')
    )
order by d.id
