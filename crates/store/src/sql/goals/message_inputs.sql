-- Lists those inputs that wait for their turn or have begun it, in the order in which they began it, with the number of attempts
-- that began. An input that neither waits nor has begun never will.
-- Each row: $1 input
with item (id) as (values /* row */ ($1))
select r.input_id, count(r.started_at) as attempts_begun
from item
-- SQLite reads the inputs first. Otherwise it may choose to read all runs.
cross join agent_runs r
where r.input_id = item.id
    and (r.started_at is not null or r.status in ('queued', 'deferred', 'delivered'))
group by r.input_id
order by min(r.started_at), r.input_id
