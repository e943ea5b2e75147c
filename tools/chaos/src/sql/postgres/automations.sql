-- All automations with their policies.
select 'aut_' || replace(id::text, '-', '') as id, name, policies, placed_on
from automation.automations
order by id
