-- Returns the usage of all runs of a tenant on each day of a period, one row for each day and currency.
-- $1 tenant, $2 the beginning of the period, $3 its end
select
    day,
    currency,
    cast(sum(tokens) as bigint) as tokens,
    cast(sum(cost) as bigint) as cost,
    cast(sum(turns) as bigint) as turns,
    cast(sum(turn_ms) as bigint) as turn_ms
from spending
where tenant_id = $1 and day >= $2 and day < $3
group by day, currency
