-- Privileges on tables and views; inherited_from says of which are those of the schema or the catalog.
SELECT grantor, grantee, table_catalog, table_schema, table_name, privilege_type, is_grantable, inherited_from
FROM system.information_schema.table_privileges
