-- Lets the undelivered messages of seats that no open input carries wait for another input than a message. Returns those that
-- did not wait before.
-- Each row: $1 seat. $2 the longest chain, $3 the length of a chain that waits
with item (id) as (values /* row */ ($1))
update agent_messages set chain_length = $3
where to_seat_id in (select id from item) and delivered_at is null and coalesce(chain_length, 1) <= $2
    and not exists (
        select 1 from agent_runs r
        where r.input_id = agent_messages.input_id and r.status in ('queued', 'deferred', 'delivered', 'running')
    )
returning id, to_seat_id
