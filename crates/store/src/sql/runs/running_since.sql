-- Returns the running turns of automations and tenants, with the instants at which they began.
-- Each row: $1 automation or tenant
with item (id) as (values /* row */ ($1))
select r.id, r.tenant_id, r.automation_id, r.started_at
from run_heartbeats h
join agent_runs r on r.id = h.run_id
where r.status = 'running'
    and (r.automation_id in (select id from item) or r.tenant_id in (select id from item))
