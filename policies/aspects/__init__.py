"""Users, groups, roles and policies as DataHub aspects."""
