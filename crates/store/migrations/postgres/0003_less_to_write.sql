-- Less to write for each run: indexes that no statement needs are gone, and one is there that was
-- missing. The same as ../sqlite/0003_less_to_write.sql, which keeps two tables by their keys as well.

-- No statement asks for them.
drop index agent_runs_taken;
drop index agent_messages_of_tenant;
drop index agent_definitions_of_tenant;

-- The seats of a session are asked for by the session alone.
create index agent_definitions_by_session on agent_definitions (session_id, id);

-- What a seat has written is found by its session, if the seat goes before that.
drop index agent_messages_by_from_seat;

-- Most sessions have no key.
drop index agent_sessions_one_per_key;
create unique index agent_sessions_one_per_key on agent_sessions (tenant_id, session_key)
    where session_key is not null;

-- Ids begin with the time, so the oldest records are those of the first ids.
drop index run_records_by_age;
