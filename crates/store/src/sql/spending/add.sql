-- Adds usage to the day of a spender and currency.
-- Each row: :tenant, :spender, :automation or null, :day, :currency, :tokens, :cost, :turns, :turn_ms
insert into spending (tenant_id, spender_id, automation_id, day, currency, tokens, cost, turns, turn_ms)
values /* row */ (:tenant, :spender, :automation, :day, :currency, :tokens, :cost, :turns, :turn_ms)
on conflict (spender_id, day, currency) do update
set tokens = spending.tokens + excluded.tokens,
    cost = spending.cost + excluded.cost,
    turns = spending.turns + excluded.turns,
    turn_ms = spending.turn_ms + excluded.turn_ms
