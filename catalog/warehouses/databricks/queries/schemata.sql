-- The owners of schemas.
SELECT catalog_name, schema_name, schema_owner
FROM system.information_schema.schemata
WHERE schema_name <> 'information_schema'
