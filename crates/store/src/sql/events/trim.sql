-- Removes a limited number of events from the beginning of a log, up to the first event that is recent enough. So the
-- rest has no gap, even if the clock was set back.
-- $1 session, $2 oldest that stays, $3 limit
with page as (
    select seq, created_at from session_events where session_id = $1 order by seq limit $3
)
delete from session_events
where session_id = $1
  and seq <= (select max(seq) from page)
  and seq < coalesce((select min(seq) from page where created_at >= $2), (select max(seq) + 1 from page))
returning transaction_id, session_id as log_id, seq
