-- Returns the running turns of automations, tenants and sessions, with the instants at which they began and at which
-- their workers were last alive.
-- Each row: $1 automation, tenant or session
with item (id) as (values /* row */ ($1))
select r.id, r.tenant_id, r.automation_id, r.started_at, h.beat_at
from run_heartbeats h
join agent_runs r on r.id = h.run_id
where r.status = 'running'
    and (r.automation_id in (select id from item) or r.tenant_id in (select id from item)
        or r.session_id in (select id from item))
