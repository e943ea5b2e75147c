-- Inserts a session. Its row takes the numbers of its first events at once.
-- :id, :tenant, :kind, :type, :state, :key, :title, :cwd, :automation, :last_seq last number, :now, :channel,
-- :chat, :thread
insert into agent_sessions
    (id, tenant_id, kind, type, state, session_key, title, cwd, schedule_id, last_seq, created_at, updated_at,
     channel, chat_id, thread)
values /* row */ (:id, :tenant, :kind, :type, :state, :key, :title, :cwd, :automation, :last_seq, :now, :now, :channel, :chat, :thread)
