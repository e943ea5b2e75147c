-- Adds an attempt to the log of a delivery.
-- :delivery, :number, :tenant, :status or null, :error or null, :answer or null, :started_at, :ended_at
insert into webhook_attempts
    (delivery_id, number, tenant_id, status, error, answer, started_at, ended_at)
values (:delivery, :number, :tenant, :status, :error, :answer, :started_at, :ended_at)
