-- All triggers, each as JSON.
select json_object(
    'id', lower(hex(id)), 'automation', 'aut_' || lower(hex(automation_id)), 'spec', json(spec),
    'created_at', created_at)
from automation_triggers
order by id
