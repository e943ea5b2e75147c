-- Messages between the seats of a session: rows of the transcript that name the seat they are for.

-- A subscriber reads on from a number, and one that begins anew what nobody has acknowledged.
create index agent_messages_published on agent_messages (session_id, seq)
    where to_seat_id is not null;
create index agent_messages_unacknowledged on agent_messages (session_id, seq)
    where to_seat_id is not null and delivered_at is null;

-- Announces each message on the channel of its session, with its id and nothing else. Sent by the
-- database, so that no code path can forget it; asked for each row, so that the other rows of a
-- transcript, of which there are many, cost no more than the question.
create function announce_message() returns trigger
language plpgsql
set search_path = automation, pg_temp
as $$
begin
    perform pg_notify(
        'automation_session_' || replace(new.session_id::text, '-', '_'), new.id::text);
    return null;
end
$$;

create trigger agent_messages_announce
    after insert on agent_messages
    for each row when (new.to_seat_id is not null)
    execute function announce_message();
