-- Masks of columns.
SELECT catalog_name, schema_name, table_name, column_name, mask_catalog, mask_schema, mask_name
FROM system.information_schema.column_masks
