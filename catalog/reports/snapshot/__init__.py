"""The snapshot that a run reads: tables of the database as files, written once and read in partitions."""
