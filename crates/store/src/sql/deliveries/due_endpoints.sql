-- Lists endpoints with due deliveries, the longest overdue first.
-- $1 now, $2 limit
select endpoint_id, min(next_attempt_at) as at
from webhook_deliveries
where state = 'pending' and next_attempt_at <= $1
group by endpoint_id
order by at, endpoint_id
limit $2
