-- Makes a session, with the numbers taken that its first events will have.
-- $1 id, $2 tenant, $3 kind, $4 type, $5 state, $6 key, $7 title, $8 cwd, $9 automation, $10 last number,
-- $11 now, $12 channel, $13 chat, $14 thread
insert into agent_sessions
    (id, tenant_id, kind, type, state, session_key, title, cwd, schedule_id, last_seq, created_at, updated_at,
     channel, chat_id, thread)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, $12, $13, $14)
