-- Returns the number and the bytes of an owner's entries, and the number of those that a run has written last.
-- $1 automation or null, $2 session or null, $3 run or null
select count(*) as entries, cast(coalesce(sum(size_bytes), 0) as bigint) as size_bytes,
    count(case when run_id = $3 then 1 end) as of_run
from agent_memory_entries
where automation_id = $1 or session_id = $2
