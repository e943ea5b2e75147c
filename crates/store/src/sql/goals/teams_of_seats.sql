-- Reads the teams of the goals of seats, with the role of each seat. A seat whose session has no goal has no row.
-- Each row: $1 seat
with item (id) as (values /* row */ ($1))
select d.id, d.role, g.team, g.needs_format
from agent_definitions d
join goals g on g.session_id = d.session_id
where d.id in (select id from item)
