-- Lets the undelivered messages of seats that waited for an input from outside begin new chains.
-- Each row: $1 seat. $2 the longest chain
with item (id) as (values /* row */ ($1))
update agent_messages set chain_length = 1
where to_seat_id in (select id from item) and delivered_at is null and chain_length > $2
