-- Lists the days of a period on which turns began that have ended since an instant, long after their creation, or whose
-- inputs have got another attempt since.
-- $1 tenant, $2 the instant, $3 the lowest id of an attempt, $4 the beginning of the period, $5 its end
select distinct date_trunc('day', started_at, 'UTC') as day
from (
    select started_at
    from agent_runs
    where tenant_id = $1 and ended_at >= $2 and ended_at - created_at > interval '1 hour'
    union all
    select (
        select earlier.started_at
        from agent_runs earlier
        where earlier.input_id = later.input_id and earlier.attempt = later.attempt - 1
    ) as started_at
    from agent_runs later
    where later.tenant_id = $1 and later.id >= $3 and later.attempt > 1
) run
where started_at >= $4 and started_at < $5
