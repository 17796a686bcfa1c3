-- Privileges on the database: those for all of its schemas or tables open something.
SELECT
    privilege.database_name,
    privilege.privilege_type,
    privilege.identity_id,
    privilege.identity_name,
    privilege.identity_type,
    privilege.admin_option,
    privilege.privilege_scope
FROM svv_database_privileges AS privilege
WHERE privilege.database_name = current_database()
