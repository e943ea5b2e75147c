-- Removes the text of a turn that has ended: the transcript has it.
-- $1 run
delete from run_live where run_id = $1
