-- Returns the pieces of a running turn's live text that reach beyond a position.
-- $1 tenant or null, $2 run, $3 position in bytes
select position, text from run_live
where run_id = $2 and position + octet_length(text) > $3 and ($1 is null or tenant_id = $1)
order by position
