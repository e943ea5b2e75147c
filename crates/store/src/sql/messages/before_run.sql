-- Returns the sequence number after which a transcript has the rows of a run: the number before the run's first row,
-- or the newest number of its session if the run has no row yet.
-- $1 tenant or null, $2 run
select coalesce((select min(m.seq) - 1 from agent_messages m where m.run_id = r.id), s.last_seq) as seq
from agent_runs r
join agent_sessions s on s.id = r.session_id
where r.id = $2 and ($1 is null or r.tenant_id = $1)
