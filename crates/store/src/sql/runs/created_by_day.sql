-- Counts the runs of a tenant in ranges of IDs, which are those of days.
-- Each row: $1 day, $2 the lowest id, $3 the id before which runs count. $4 tenant
with item (day, first_id, end_id) as (values /* row */ ($1, $2, $3))
select day, (
    select count(*) from agent_runs where tenant_id = $4 and id >= item.first_id and id < item.end_id
) as runs
from item
