-- Returns the time of the database server, by which all its clients correct their clocks. `clock_timestamp()` is the
-- time of the call; `now()` would be that of the transaction's beginning.
select clock_timestamp() as database_time
