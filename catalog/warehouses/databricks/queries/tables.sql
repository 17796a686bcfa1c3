-- The owners of tables and views.
SELECT table_catalog, table_schema, table_name, table_type, table_owner
FROM system.information_schema.tables
WHERE table_schema <> 'information_schema'
