-- Lists the entries of an owner by their keys, without expired ones.
-- :automation or null, :session or null, :after key or null, :now, :limit, :pattern or null, :lower_pattern or null
select m.id, m.automation_id, m.session_id, m.key, m.value, m.size_bytes, m.confidence, m.version, m.author, m.run_id, m.expires_at, m.created_at, m.updated_at,
    exists (select 1 from agent_runs r where r.id = m.run_id and r.status <> 'succeeded') as is_unconfirmed
from agent_memory_entries m
where (m.automation_id = :automation or m.session_id = :session) and (m.expires_at is null or m.expires_at > :now)
  and (:after is null or m.key > :after)
  and (:pattern is null or m.key like :pattern escape '\' or m.value like :pattern escape '\'
    or lower(m.key) like :lower_pattern escape '\' or lower(m.value) like :lower_pattern escape '\')
order by m.key
limit :limit
