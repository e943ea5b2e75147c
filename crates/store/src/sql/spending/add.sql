-- Adds to what was used on a day.
-- Each row: $1 tenant, $2 spender, $3 automation or null, $4 day, $5 currency, $6 tokens, $7 cost, $8 turns
insert into spending (tenant_id, spender_id, automation_id, day, currency, tokens, cost, turns)
values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict (spender_id, day, currency) do update
set tokens = spending.tokens + excluded.tokens,
    cost = spending.cost + excluded.cost,
    turns = spending.turns + excluded.turns
