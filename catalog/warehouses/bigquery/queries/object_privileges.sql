-- The bindings of one object: BigQuery answers for no more than one at a time. They are those of the object itself, and
-- not of what it is in. Of a dataset, object_name is its name, and nothing is said of object_schema.
SELECT
    object_catalog,
    object_schema,
    object_name,
    object_type,
    privilege_type,
    grantee
FROM `region-REGION`.INFORMATION_SCHEMA.OBJECT_PRIVILEGES
WHERE object_schema = 'DATASET' AND object_name = 'OBJECT'
