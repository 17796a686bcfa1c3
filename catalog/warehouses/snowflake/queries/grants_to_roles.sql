-- Grants to roles of every kind, applications and people, without those that were revoked.
SELECT
    created_on,
    modified_on,
    privilege,
    granted_on,
    name,
    table_catalog,
    table_schema,
    granted_to,
    grantee_name,
    grant_option,
    granted_by,
    deleted_on,
    granted_by_role_type,
    object_instance
FROM snowflake.account_usage.grants_to_roles
WHERE deleted_on IS NULL
