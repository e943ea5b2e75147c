-- The whole input of a permission request. The same as ../postgres/0017_approval_inputs.sql.
--
-- Lists read the beginning of a long input in `input`. Earlier programs do not know these columns: the approvals that
-- they write keep the beginning alone.

alter table approvals add column long_input text;
alter table approvals add column input_bytes integer
    constraint approvals_long_input_has_a_length check ((long_input is null) = (input_bytes is null));
