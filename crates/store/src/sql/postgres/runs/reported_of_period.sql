-- Counts a tenant's turns that began in a period and are over, and those of them whose agents reported their usage. Of
-- the attempts at an input the last one counts; a run that succeeded is the last one.
-- $1 tenant, $2 the lowest id, $3 the id before which runs count, $4 the beginning of the period, $5 its end
select count(*) as turns,
    count(*) filter (where jsonb_typeof(usage #> '{spent,tokens}') = 'number'
        and usage #> '{spent,tokens}' > '0') as with_tokens,
    count(*) filter (where coalesce(usage #> '{spent,cost}', '{}') <> '{}') as with_cost
from agent_runs
where tenant_id = $1 and id >= $2 and id < $3 and started_at >= $4 and started_at < $5 and ended_at is not null
  and (status = 'succeeded' or not exists (
      select 1 from agent_runs later
      where later.input_id = agent_runs.input_id and later.attempt > agent_runs.attempt
  ))
