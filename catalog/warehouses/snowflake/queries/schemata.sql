-- Schemas: in those with managed access only their owner gives access to what is in them.
SELECT
    catalog_name,
    schema_name,
    schema_owner,
    is_managed_access,
    deleted
FROM snowflake.account_usage.schemata
WHERE deleted IS NULL
