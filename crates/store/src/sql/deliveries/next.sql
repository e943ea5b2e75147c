-- Says when the next delivery is due, or whoever sends one counts as lost.
select min(next_attempt_at) as at from webhook_deliveries where state = 'pending'
