-- Counts the unfinished runs by status, and returns the arrival of the oldest queued input. The condition of each
-- count matches that of an index, so that finished runs cost nothing. `coalesce` keeps the count by reason from the index
-- of reasons, most of whose runs have ended.
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
        where status = 'queued' and coalesce(reason, '') = 'directory not here' and ($1 is null or tenant_id = $1)
    ) as without_directory,
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
        where status in ('queued', 'delivered', 'running') and status = 'delivered' and worker_id = 'trigger-file'
          and ($1 is null or tenant_id = $1)
    ) as as_files,
    (
        select count(*) from agent_runs
        where status in ('queued', 'delivered', 'running') and status = 'running'
          and ($1 is null or tenant_id = $1)
    ) as running
