-- The owners of catalogs.
SELECT catalog_name, catalog_owner
FROM system.information_schema.catalogs
