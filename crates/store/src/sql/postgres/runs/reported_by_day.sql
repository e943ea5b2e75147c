-- Counts a tenant's turns that began on each day of a period and are over, and those of them whose agents reported their
-- usage. Of the attempts at an input the last one counts; a run that succeeded is the last one. Runs that were created
-- earlier are found by the index of late ends.
-- $1 tenant, $2 the lowest id, except of late ends, $3 the id before which runs count, $4 the beginning of the period, $5
-- its end
with run as (
    select input_id, attempt, status, started_at, usage
    from agent_runs
    where tenant_id = $1 and id >= $2 and id < $3 and started_at >= $4 and started_at < $5 and ended_at is not null
    union all
    select input_id, attempt, status, started_at, usage
    from agent_runs
    where tenant_id = $1 and ended_at >= $4 and ended_at - created_at > interval '1 hour' and id < $2
      and started_at >= $4 and started_at < $5
)
select date_trunc('day', started_at, 'UTC') as day, count(*) as turns,
    count(*) filter (where jsonb_typeof(usage #> '{spent,tokens}') = 'number'
        and usage #> '{spent,tokens}' > '0') as with_tokens,
    count(*) filter (where coalesce(usage #> '{spent,cost}', '{}') <> '{}') as with_cost
from run
where status = 'succeeded' or not exists (
    select 1 from agent_runs later where later.input_id = run.input_id and later.attempt > run.attempt
)
group by 1
