-- The accounts that there are.
SELECT
    name,
    login_name,
    disabled,
    created_on,
    deleted_on
FROM snowflake.account_usage.users
WHERE deleted_on IS NULL
