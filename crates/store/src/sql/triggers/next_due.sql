-- Says when the next trigger is due.
select min(next_fire_at) as at from automation_triggers where next_fire_at is not null
