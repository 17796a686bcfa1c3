-- Filters of rows.
SELECT catalog_name, schema_name, table_name, filter_catalog, filter_schema, filter_name
FROM system.information_schema.row_filters
