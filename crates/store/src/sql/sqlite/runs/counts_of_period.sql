-- Counts a tenant's inputs in a period by their status so far, and the turns whose agents reported their usage. Reads the
-- newest inputs up to a limit, and says whether the period has more. No attempt follows one that has succeeded. The rows
-- are read in the order of their creation, because SQLite then steps from one to the next; backwards it would search for
-- each. So the ID of the oldest one that counts is found first, in the index. The instant in microseconds makes the first
-- ID of the period. Runs that were created earlier and ended in the period are found by the index of late ends.
-- :tenant, :first_id the lowest id, except of late ends, :before the id before which to begin, :from the beginning of the
-- period, :since the instant since which inputs are counted, :today the instant since which turns are counted, :limit
with oldest (id) as materialized (
    select id
    from agent_runs
    where tenant_id = :tenant and id < :before and id >= unhex(printf('%012x', :from / 1000))
    order by id desc
    limit 1 offset :limit
),
run as (
    select input_id, attempt, status, occurrences, started_at, ended_at, usage
    from agent_runs
    where tenant_id = :tenant and id < :before and id >= coalesce((select id from oldest), :first_id)
      and (ended_at is null or ended_at >= :from)
    union all
    select input_id, attempt, status, occurrences, started_at, ended_at, usage
    from agent_runs
    where tenant_id = :tenant and ended_at >= :from and ended_at - created_at > 3600000000 and id < :first_id
      and not exists (select 1 from oldest)
)
select status, exists (select 1 from oldest) as cut,
    sum(case when ended_at < :since then 0 when status in ('missed', 'skipped') then occurrences else 1 end) as inputs,
    count(case when started_at >= :today then ended_at end) as turns,
    count(case when started_at >= :today and ended_at is not null
        then nullif(json_extract(usage, '$.spent.tokens'), 0) end) as with_tokens,
    count(case when started_at >= :today and ended_at is not null
        then nullif(json_extract(usage, '$.spent.cost'), '{}') end) as with_cost
from run
where status = 'succeeded' or not exists (
    select 1 from agent_runs later where later.input_id = run.input_id and later.attempt > run.attempt
)
group by status
