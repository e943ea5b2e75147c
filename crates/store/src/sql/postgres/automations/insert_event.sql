-- Inserts an event into the log of an automation. The default of `transaction_id` names the transaction.
-- :automation, :seq number, :tenant, :kind, :ref ID of its subject, :body, :now
insert into automation_events (automation_id, seq, tenant_id, kind, ref_id, body, created_at)
values /* row */ (:automation, :seq, :tenant, :kind, :ref, :body, :now)
