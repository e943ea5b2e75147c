-- Takes the number of a transaction that writes. There is one writer, so numbers follow commits.
update transaction_ids set last = last + 1
