-- The content that datashares show to other clusters and accounts.
SELECT
    current_database() AS database_name,
    shared.share_type,
    shared.share_name,
    shared.object_type,
    shared.object_name,
    shared.include_new
FROM svv_datashare_objects AS shared
WHERE shared.share_type = 'OUTBOUND'
