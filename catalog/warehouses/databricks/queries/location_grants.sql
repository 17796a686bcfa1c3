-- Tables whose files lie in an external location, with who may read the files there: nothing of the table is asked then.
SELECT
    tables.table_catalog,
    tables.table_schema,
    tables.table_name,
    granted.external_location_name,
    granted.grantee,
    granted.privilege_type
FROM (
    SELECT external_location_name, grantee, privilege_type
    FROM system.information_schema.external_location_privileges
    UNION ALL
    SELECT external_location_name, external_location_owner, 'OWNERSHIP'
    FROM system.information_schema.external_locations
) AS granted
JOIN system.information_schema.external_locations AS location
    ON location.external_location_name = granted.external_location_name
JOIN system.information_schema.tables AS tables
    ON startswith(concat(rtrim('/', tables.storage_path), '/'), concat(rtrim('/', location.url), '/'))
WHERE granted.privilege_type IN ('READ FILES', 'READ_FILES', 'WRITE FILES', 'WRITE_FILES', 'ALL PRIVILEGES',
    'ALL_PRIVILEGES', 'MANAGE', 'OWNERSHIP')
