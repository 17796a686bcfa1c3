-- Databases, of which some were made from shares: there USAGE opens everything.
SELECT
    database_name,
    database_owner,
    type,
    deleted
FROM snowflake.account_usage.databases
WHERE deleted IS NULL
