-- Inserts an event into the log of an automation, with the number of its transaction.
-- :automation, :seq number, :tenant, :kind, :ref ID of its subject, :body, :now
insert into automation_events (automation_id, seq, tenant_id, kind, ref_id, body, created_at, transaction_id)
values /* row */ (:automation, :seq, :tenant, :kind, :ref, :body, :now, (select last from transaction_ids))
