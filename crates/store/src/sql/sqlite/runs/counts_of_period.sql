-- Counts a tenant's inputs in a period by their status so far, and the turns whose agents reported their usage. Reads the
-- newest inputs up to a limit. No attempt follows one that has succeeded. `case` parses no usage of other days, but `and`
-- would: SQLite computes both sides of it.
-- :tenant, :first_id the lowest id, :before the id before which to begin, :from the beginning of the period, :since the
-- instant since which inputs are counted, :today the instant since which turns are counted, :limit
select status, count(*) as found, sum(case when ended_at is null or ended_at >= :since then inputs else 0 end) as inputs,
    sum(has_turn) as turns,
    sum(case when has_turn then coalesce(json_extract(usage, '$.spent.tokens'), 0) > 0 else 0 end) as with_tokens,
    sum(case when has_turn then coalesce(json_extract(usage, '$.spent.cost'), '{}') <> '{}' else 0 end) as with_cost
from (
    select status, case when status in ('missed', 'skipped') then occurrences else 1 end as inputs, ended_at,
        started_at is not null and started_at >= :today and ended_at is not null as has_turn, usage
    from agent_runs
    where tenant_id = :tenant and id < :before and id >= :first_id
      and (ended_at is null or ended_at >= :from)
      and (status = 'succeeded' or not exists (
          select 1 from agent_runs later
          where later.input_id = agent_runs.input_id and later.attempt > agent_runs.attempt
      ))
    order by id desc
    limit :limit
)
group by status
