-- Counts a tenant's turns that began on each day of a period and are over, and those of them whose agents reported their
-- usage. Of the attempts at an input the last one counts; a run that succeeded is the last one. Runs that were created
-- earlier are found by the index of late ends. The usage is judged before the rows are grouped, so that SQLite sorts
-- numbers instead of texts.
-- $1 tenant, $2 the lowest id, except of late ends, $3 the id before which runs count, $4 the beginning of the period, $5
-- its end
with run as (
    select input_id, attempt, status, started_at, usage
    from agent_runs
    where tenant_id = $1 and id >= $2 and id < $3 and started_at >= $4 and started_at < $5 and ended_at is not null
    union all
    select input_id, attempt, status, started_at, usage
    from agent_runs
    where tenant_id = $1 and ended_at >= $4 and ended_at - created_at > 3600000000 and id < $2
      and started_at >= $4 and started_at < $5
),
turn as materialized (
    select started_at - started_at % 86400000000 as day,
        coalesce(json_extract(usage, '$.spent.tokens'), 0) > 0 as has_tokens,
        coalesce(json_extract(usage, '$.spent.cost'), '{}') <> '{}' as has_cost
    from run
    where status = 'succeeded' or not exists (
        select 1 from agent_runs later where later.input_id = run.input_id and later.attempt > run.attempt
    )
)
select day, count(*) as turns, sum(has_tokens) as with_tokens, sum(has_cost) as with_cost
from turn
group by day
