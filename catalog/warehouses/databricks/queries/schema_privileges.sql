-- Privileges on schemas. Without USE SCHEMA nobody reaches a table, whatever he has on it.
SELECT grantor, grantee, catalog_name, schema_name, privilege_type, is_grantable, inherited_from
FROM system.information_schema.schema_privileges
