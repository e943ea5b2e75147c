-- Lists the entries that a turn may read, the last written first, without expired ones: those of the automation of its
-- run, of its session, and of the automations that run in the session.
-- :tenant or null, :run, :session, :session_key or null, :automation of the run or null, :now, :key or null, :prefix or null,
-- :pattern or null, :lower_pattern or null, :min_confidence or null, :limit
select m.id, m.automation_id, m.session_id, m.key, m.value, m.size_bytes, m.confidence, m.version, m.author, m.run_id, m.expires_at, m.created_at, m.updated_at,
    a.name as automation_name, exists (select 1 from agent_runs r where r.id = m.run_id and r.status <> 'succeeded' and r.id <> :run) as is_unconfirmed
from agent_memory_entries m
left join automations a on a.id = m.automation_id
where (:tenant is null or m.tenant_id = :tenant) and (m.expires_at is null or m.expires_at > :now)
  and (m.session_id = :session or m.automation_id = :automation or m.automation_id in (
    select id from automations
    where tenant_id = :tenant and deleted_at is null
      and (bound_session_key = :session_key or current_session_id = :session)))
  and (:key is null or m.key = :key)
  and (:prefix is null or substr(m.key, 1, length(:prefix)) = :prefix)
  and (:pattern is null or m.key like :pattern escape '\' or m.value like :pattern escape '\'
    or lower(m.key) like :lower_pattern escape '\' or lower(m.value) like :lower_pattern escape '\')
  and (:min_confidence is null or m.confidence >= :min_confidence)
order by m.updated_at desc, m.id desc
limit :limit
