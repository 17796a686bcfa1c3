-- Privileges on tables and views of the catalog, with who gave them.
SELECT
    privilege.grantor,
    privilege.grantor_type,
    privilege.grantee,
    privilege.grantee_type,
    privilege.table_catalog,
    privilege.table_schema,
    privilege.table_name,
    relation.table_type,
    privilege.privilege_type,
    privilege.is_grantable
FROM information_schema.table_privileges AS privilege
LEFT JOIN information_schema.tables AS relation
    ON relation.table_schema = privilege.table_schema AND relation.table_name = privilege.table_name
