-- Counts the undelivered messages of seats. Returns no row for a seat without any.
-- Each row: $1 seat
with item (id) as (values /* row */ ($1))
select m.to_seat_id, count(*) as undelivered
from agent_messages m
where m.to_seat_id in (select id from item) and m.delivered_at is null
group by m.to_seat_id
