-- Lists pending approvals whose deadline has passed.
-- $1 now, $2 limit
select id, run_id from approvals where state = 'pending' and deadline_at <= $1 order by deadline_at limit $2
