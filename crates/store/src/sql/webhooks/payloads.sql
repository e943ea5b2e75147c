-- Returns the payloads of webhooks by input, for any attempt at the input. The row belongs to the first attempt.
-- Each row: $1 input
with item (id) as (values /* row */ ($1))
select r.input_id, p.payload
from agent_runs r
join webhook_payloads p on p.run_id = r.id
where r.input_id in (select id from item) and r.attempt = 1
