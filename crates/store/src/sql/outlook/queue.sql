-- Counts the runs that are not over by status, and says since when the oldest queued one waits. Each count
-- is asked for as an index has it, so that runs that are over cost nothing.
-- $1 tenant or null
select
    (
        select count(*) from agent_runs
        where status = 'queued' and ($1 is null or tenant_id = $1)
    ) as queued,
    (
        select min(input_at) from agent_runs
        where status = 'queued' and ($1 is null or tenant_id = $1)
    ) as oldest_queued,
    (
        select count(*) from agent_runs
        where status = 'deferred' and ($1 is null or tenant_id = $1)
    ) as deferred,
    (
        select count(*) from agent_runs
        where status in ('queued', 'delivered', 'running') and status = 'delivered'
          and ($1 is null or tenant_id = $1)
    ) as delivered,
    (
        select count(*) from agent_runs
        where status in ('queued', 'delivered', 'running') and status = 'running'
          and ($1 is null or tenant_id = $1)
    ) as running
