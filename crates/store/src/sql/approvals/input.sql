-- Reads the input of an approval.
-- $1 tenant or null, $2 id
select input, input_cut, long_input, input_bytes
from approvals
where id = $2 and ($1 is null or tenant_id = $1)
