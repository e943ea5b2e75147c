-- Messages between the seats of a session start turns. The same as ../postgres/0030_seat_messages.sql.
--
-- `input_id` is the input whose turn carries the message, so that a retry carries the same ones. `chain_length` counts the
-- message turns in a row that only caused each other, up to the turn that the message starts; null is 1. Earlier programs
-- publish no messages. One that takes such an input sends a prompt without the messages, which stay undelivered.

alter table agent_messages add column input_id blob;
alter table agent_messages add column chain_length integer
    constraint agent_messages_chain_counted check (chain_length >= 1);

create index agent_messages_by_input on agent_messages (input_id) where input_id is not null;
create index agent_messages_undelivered_by_seat on agent_messages (to_seat_id, seq)
    where to_seat_id is not null and delivered_at is null;

-- A seat has at most one input that waits with messages and has not begun. A retry carries messages of its own.
create unique index agent_runs_one_message_input_per_seat on agent_runs (seat_id, origin)
    where origin = 'message' and attempt = 1 and status in ('queued', 'deferred', 'delivered');
