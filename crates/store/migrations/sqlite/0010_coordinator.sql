-- Messages between the seats of a session: rows of the transcript that name the seat they are for.

-- A subscriber reads on from a number, and one that begins anew what nobody has acknowledged.
create index agent_messages_published on agent_messages (session_id, seq)
    where to_seat_id is not null;
create index agent_messages_unacknowledged on agent_messages (session_id, seq)
    where to_seat_id is not null and delivered_at is null;
