-- Lists what the spenders with the highest usage of a tenant have used on a day, one row for each spender and currency. Only
-- these get the names of their automations. A spender's highest cost in one currency ranks it, then its tokens and its turns.
-- $1 tenant, $2 day, $3 the highest number of spenders
with highest (id) as materialized (
    select spender_id
    from spending
    where tenant_id = $1 and day = $2
    group by spender_id
    order by max(cost) desc, sum(tokens) desc, sum(turns) desc, spender_id
    limit $3
)
select s.automation_id, a.name as automation_name, s.currency, s.tokens, s.cost, s.turns
from spending s
left join automations a on a.id = s.automation_id
where s.spender_id in (select id from highest) and s.day = $2
