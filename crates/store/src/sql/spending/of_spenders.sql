-- Returns the usage of automations in a month, and on a day of it.
-- Each row: $1 spender. $2 the beginning of the month, $3 that of the next, $4 the day
with item (id) as (values /* row */ ($1))
select
    spender_id as id,
    currency,
    cast(sum(tokens) as bigint) as tokens,
    cast(sum(cost) as bigint) as cost,
    cast(sum(turns) as bigint) as turns,
    cast(sum(turn_ms) as bigint) as turn_ms,
    cast(sum(case when day = $4 then tokens else 0 end) as bigint) as day_tokens,
    cast(sum(case when day = $4 then cost else 0 end) as bigint) as day_cost,
    cast(sum(case when day = $4 then turns else 0 end) as bigint) as day_turns,
    cast(sum(case when day = $4 then turn_ms else 0 end) as bigint) as day_turn_ms
from spending
where spender_id in (select id from item) and day >= $2 and day < $3
group by spender_id, currency
