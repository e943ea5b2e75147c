-- Writes an event under the number that the session gave it. The row names its transaction by itself.
-- :session, :seq number, :tenant, :kind, :ref what it is about, :body, :now
insert into session_events (session_id, seq, tenant_id, kind, ref_id, body, created_at)
values /* row */ (:session, :seq, :tenant, :kind, :ref, :body, :now)
