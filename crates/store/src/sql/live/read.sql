-- Reads the text that a running turn has written, from a position on.
-- $1 run, $2 position
select position, text from run_live where run_id = $1 and position >= $2 order by position
