-- Takes the next numbers of automations' own logs. The rows are locked already.
-- Each row: $1 automation, $2 how many
with item (id, numbers) as (values /* row */ ($1, $2))
update automations set last_seq = last_seq + item.numbers
from item
where automations.id = item.id
returning automations.id, last_seq, tenant_id
