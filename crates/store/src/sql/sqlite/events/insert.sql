-- Writes an event under the number that the session gave it, with that of its transaction.
-- :session, :seq number, :tenant, :kind, :ref what it is about, :body, :now
insert into session_events (session_id, seq, tenant_id, kind, ref_id, body, created_at, transaction_id)
values /* row */ (:session, :seq, :tenant, :kind, :ref, :body, :now, (select last from transaction_ids))
