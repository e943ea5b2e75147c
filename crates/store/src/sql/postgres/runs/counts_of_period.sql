-- Counts a tenant's inputs in a period by their status so far, and the turns whose agents reported their usage. Reads the
-- newest inputs up to a limit, and says whether the period may have more. No attempt follows one that has succeeded. The
-- exception also keeps the planner from a join with all attempts, which would read all inputs of the period before the
-- limit. Runs that were created earlier and ended in the period are found by the index of late ends.
-- :tenant, :first_id the lowest id, except of late ends, :before the id before which to begin, :from the beginning of the
-- period, :since the instant since which inputs are counted, :today the instant since which turns are counted, :limit
select status, (sum(count(*)) over ())::bigint >= :limit as cut,
    coalesce(sum(inputs) filter (where ended_at is null or ended_at >= :since), 0)::bigint as inputs,
    count(*) filter (where has_turn) as turns,
    count(*) filter (where has_turn and jsonb_typeof(usage #> '{spent,tokens}') = 'number'
        and usage #> '{spent,tokens}' > '0') as with_tokens,
    count(*) filter (where has_turn and coalesce(usage #> '{spent,cost}', '{}') <> '{}') as with_cost
from (
    select status, case when status in ('missed', 'skipped') then occurrences else 1 end as inputs, ended_at,
        started_at is not null and started_at >= :today and ended_at is not null as has_turn, usage
    from (
        (
            select input_id, attempt, status, occurrences, started_at, ended_at, usage
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
        union all
        (
            select input_id, attempt, status, occurrences, started_at, ended_at, usage
            from agent_runs
            where tenant_id = :tenant and ended_at >= :from and ended_at - created_at > interval '1 hour'
              and id < :first_id
              and (status = 'succeeded' or not exists (
                  select 1 from agent_runs later
                  where later.input_id = agent_runs.input_id and later.attempt > agent_runs.attempt
              ))
            order by ended_at desc
            limit :limit
        )
    ) run
) input
group by status
