-- The next instants of all triggers that will fire, each as JSON.
select json_object('next', next_scheduled_for)
from automation_triggers
where next_scheduled_for is not null
