-- Returns the seats that need an input for their messages: those with an undelivered message that no open input carries,
-- and without an input for messages that has not begun. A message at the end of a long chain waits for another input.
-- `goal_id` is the session of a seat whose session has a goal.
-- Each row: $1 seat, $2 true if messages at the end of long chains count, too. $3 the longest chain
with item (id, with_blocked) as (values /* row */ ($1, $2))
select d.id, d.tenant_id, d.session_id, g.session_id as goal_id
from item
join agent_definitions d on d.id = item.id
left join goals g on g.session_id = d.session_id
where exists (
        select 1 from agent_messages m
        where m.to_seat_id = d.id and m.delivered_at is null
            and (item.with_blocked or coalesce(m.chain_length, 1) <= $3)
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
