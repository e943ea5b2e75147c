-- Reads by what a tenant's automations are sorted and counted, without their documents. Omits deleted ones.
-- :tenant, :paused_by_person the reason of a pause by a person, :lower_pattern text in lower case as a pattern or null,
-- :pattern the text as it was written as a pattern, :session the session in which they run or null, :key and :other_key
-- its key and another one or null
select a.id, a.name, a.updated_at, a.consecutive_failures,
    case when a.paused_at is null then 'enabled' else 'paused' end as state,
    cast(case when a.attention is not null or a.pause_reason <> :paused_by_person then 1 else 0 end as bigint)
        as needs_person,
    (
        select min(t.next_fire_at)
        from automation_triggers t
        where t.automation_id = a.id and t.next_fire_at is not null
    ) as next_fire_at,
    (
        select r.id
        from agent_runs r
        where r.automation_id = a.id
        order by r.id desc
        limit 1
    ) as last_run_id
from automations a
where a.tenant_id = :tenant and a.deleted_at is null
  and (:lower_pattern is null or lower(a.name) like :lower_pattern escape '\' or a.name like :pattern escape '\')
  and (:session is null or a.current_session_id = :session or a.bound_session_key in (:key, :other_key))
