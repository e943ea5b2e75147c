-- Lists pending questions whose deadline has passed.
-- $1 now, $2 limit, $3 the highest format that this server supports: it answers nothing that needs a later one
select id from questions
where state = 'pending' and deadline_at <= $1 and needs_format <= $3
order by deadline_at
limit $2
