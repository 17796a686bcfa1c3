-- The owners of tables and views, and where the files of tables are.
SELECT table_catalog, table_schema, table_name, table_type, table_owner, storage_path
FROM system.information_schema.tables
WHERE table_schema <> 'information_schema'
