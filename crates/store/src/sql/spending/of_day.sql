-- Lists what the spenders of a tenant have used on a day, one row for each spender and currency, the highest usage
-- first. Only these get the names of their automations.
-- $1 tenant, $2 day, $3 limit
with highest as materialized (
    select automation_id, spender_id, currency, tokens, cost, turns
    from spending
    where tenant_id = $1 and day = $2
    order by cost desc, tokens desc, spender_id
    limit $3
)
select s.automation_id, a.name as automation_name, s.currency, s.tokens, s.cost, s.turns
from highest s
left join automations a on a.id = s.automation_id
order by s.cost desc, s.tokens desc, s.spender_id
