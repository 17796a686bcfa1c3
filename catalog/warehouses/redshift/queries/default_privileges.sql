-- Privileges that new tables of a user get when they are made. Without a schema they hold in all of them.
SELECT
    current_database() AS database_name,
    defaults.schema_name,
    defaults.object_type,
    defaults.owner_id,
    defaults.owner_name,
    defaults.owner_type,
    defaults.privilege_type,
    defaults.grantee_id,
    defaults.grantee_name,
    defaults.grantee_type,
    defaults.admin_option
FROM svv_default_privileges AS defaults
