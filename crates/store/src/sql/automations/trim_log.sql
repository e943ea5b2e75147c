-- Deletes the beginning of an automation's log up to the first event that is young enough, in portions. The rest has
-- no gap, even if the clock was set back between events.
-- $1 automation, $2 oldest instant that stays, $3 limit
with page as (
    select seq, created_at from automation_events where automation_id = $1 order by seq limit $3
)
delete from automation_events
where automation_id = $1
  and seq <= (select max(seq) from page)
  and seq < coalesce((select min(seq) from page where created_at >= $2), (select max(seq) + 1 from page))
returning transaction_id, automation_id as log_id, seq
