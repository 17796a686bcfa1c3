"""What a run is made from: tables of the database as files, written once and read in partitions."""
