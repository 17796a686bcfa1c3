-- The accounts that there are, and which of them are of programs.
SELECT
    name,
    login_name,
    type,
    disabled,
    created_on,
    deleted_on
FROM snowflake.account_usage.users
WHERE deleted_on IS NULL
