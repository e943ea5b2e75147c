-- All automations with their policies, each as JSON.
select json_object(
    'id', 'aut_' || lower(hex(id)), 'name', name, 'policies', json(policies),
    'placed_on', case when placed_on is not null then lower(hex(placed_on)) end)
from automations
order by id
