-- The schemas in shares, with all that is in them.
SELECT catalog_name, schema_name, share_name, shared_as_schema
FROM system.information_schema.schema_share_usage
