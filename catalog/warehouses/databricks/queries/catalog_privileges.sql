-- Privileges on catalogs. Without USE CATALOG nobody reaches a schema.
SELECT grantor, grantee, catalog_name, privilege_type, is_grantable, inherited_from
FROM system.information_schema.catalog_privileges
