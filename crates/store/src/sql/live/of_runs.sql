-- Returns the live texts of running turns beyond a position in each: the pieces that begin after the position, and
-- the last piece that begins at or before it if it reaches further.
-- Each row: $1 run, $2 position in bytes. $3 tenant or null, $4 limit
with item (run_id, after) as (values /* row */ ($1, $2))
select l.run_id, l.position, l.text
from item
join run_live l on l.run_id = item.run_id
    and l.position >= coalesce(
        (select max(p.position) from run_live p where p.run_id = item.run_id and p.position <= item.after), 0)
    and l.position + octet_length(l.text) > item.after
    and ($3 is null or l.tenant_id = $3)
order by l.run_id, l.position
limit $4
