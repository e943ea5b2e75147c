-- Reads the number of the last transaction that wrote what readers wait for.
select last from transaction_ids
