-- The data of the trigger files that fired an automation, each as JSON. The row belongs to the first attempt.
select json_object('run', 'run_' || lower(hex(run_id)), 'payload', payload)
from webhook_payloads
