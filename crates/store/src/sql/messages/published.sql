-- Returns the messages between the seats of a session after a sequence number.
-- $1 tenant, $2 session, $3 to seat or null for all, $4 after, $5 limit
select id, session_id, seq, from_seat_id, to_seat_id, content, metadata, created_at, delivered_at
from agent_messages
where session_id = $2 and to_seat_id is not null and to_seat_id = coalesce($3, to_seat_id)
    and seq > $4 and tenant_id = $1
order by seq
limit $5
