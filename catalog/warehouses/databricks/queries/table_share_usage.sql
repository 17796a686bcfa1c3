-- The tables in shares, with the names that recipients know them by.
SELECT catalog_name, schema_name, table_name, share_name, shared_as_schema, shared_as_table
FROM system.information_schema.table_share_usage
