-- Lists what the spenders of a tenant have used on a day, one row for each spender and currency, the highest usage
-- first.
-- $1 tenant, $2 day, $3 limit
select s.automation_id, a.name as automation_name, s.currency, s.tokens, s.cost, s.turns
from spending s
left join automations a on a.id = s.automation_id
where s.tenant_id = $1 and s.day = $2
order by s.cost desc, s.tokens desc, s.spender_id
limit $3
