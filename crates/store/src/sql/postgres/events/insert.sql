-- Inserts events under the sequence numbers that the session assigned. A column default records the transaction.
-- :session, :seq number, :tenant, :kind, :ref ID of the subject, :body, :now
insert into session_events (session_id, seq, tenant_id, kind, ref_id, body, created_at)
values /* row */ (:session, :seq, :tenant, :kind, :ref, :body, :now)
