-- Inserts events under the sequence numbers that the session assigned, with the number of their transaction.
-- :session, :seq number, :tenant, :kind, :ref ID of the subject, :body, :now
insert into session_events (session_id, seq, tenant_id, kind, ref_id, body, created_at, transaction_id)
values /* row */ (:session, :seq, :tenant, :kind, :ref, :body, :now, (select last from transaction_ids))
