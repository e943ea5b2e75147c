-- Counts the automations that agents have made and that may fire again: of a tenant, and of one of its sessions.
-- $1 tenant, $2 session
select count(*) as of_tenant, count(case when a.made_by_session_id = $2 then 1 end) as of_session
from automations a
where a.tenant_id = $1 and a.made_by_session_id is not null and a.deleted_at is null and exists (
    select 1
    from automation_triggers t
    where t.automation_id = a.id and t.kind <> 'manual' and t.done_at is null and t.deleted_at is null
        and (t.kind = 'webhook' or t.next_fire_at is not null or a.paused_at is not null)
)
