-- Takes a number for a transaction that records a change. There is one writer, so numbers follow commits.
update transaction_ids set last = last + 1
