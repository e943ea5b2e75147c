-- The data of the trigger files that fired an automation. The row belongs to the first attempt.
select 'run_' || replace(run_id::text, '-', '') as run, payload
from automation.webhook_payloads
