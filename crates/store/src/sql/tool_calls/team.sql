-- Counts the seats of the session of a seat, and the undelivered messages to the seat that the turn of an input does not
-- carry.
-- $1 seat, $2 input
select
    (
        select count(*) from agent_definitions d
        join agent_definitions own on own.id = $1
        where d.tenant_id = own.tenant_id and d.session_id = own.session_id
    ) as seats,
    (
        select count(*) from agent_messages m
        where m.to_seat_id = $1 and m.delivered_at is null and (m.input_id is null or m.input_id <> $2)
    ) as unread
