-- Takes the next event numbers of the logs of automations. The caller must hold the locks of the rows.
-- Each row: $1 automation, $2 number of events
with item (id, numbers) as (values /* row */ ($1, $2))
update automations set last_seq = last_seq + item.numbers
from item
where automations.id = item.id
returning automations.id, last_seq, tenant_id
