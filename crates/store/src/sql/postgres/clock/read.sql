-- Reads the clock of the database's server, by which all who share it correct theirs: the only statement that
-- asks for the time. What it shows is of the moment at which it runs, not of the transaction's beginning.
select clock_timestamp() as shown
