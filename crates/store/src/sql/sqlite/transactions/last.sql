-- Returns the number of the last transaction that recorded a change.
select last from transaction_ids
