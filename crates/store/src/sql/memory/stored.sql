-- Returns the number and the bytes of an owner's entries, the number of those that a run has written last, and the number of
-- expired entries, which the others leave out. With them, returns the entry under a key as `memory/by_key`, or nulls if there is
-- none or only an expired one.
-- $1 automation or null, $2 session or null, $3 key, $4 run or null, $5 now
select owned.entries, owned.total_bytes, owned.of_run, owned.expired,
    m.id, m.automation_id, m.session_id, m.key, m.value, m.size_bytes, m.confidence, m.version, m.author, m.run_id, m.expires_at, m.created_at, m.updated_at, false as is_unconfirmed
from (
    select count(case when expires_at is null or expires_at > $5 then 1 end) as entries,
        cast(coalesce(sum(case when expires_at is null or expires_at > $5 then size_bytes end), 0) as bigint) as total_bytes,
        count(case when run_id = $4 and (expires_at is null or expires_at > $5) then 1 end) as of_run,
        count(case when expires_at <= $5 then 1 end) as expired
    from agent_memory_entries
    where automation_id = $1 or session_id = $2
) owned
left join agent_memory_entries m
    on m.key = $3 and (m.automation_id = $1 or m.session_id = $2) and (m.expires_at is null or m.expires_at > $5)
