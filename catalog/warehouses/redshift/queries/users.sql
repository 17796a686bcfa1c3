-- All users, and who is a superuser.
SELECT
    current_database() AS database_name,
    account.user_name,
    account.user_id,
    account.superuser
FROM svv_user_info AS account
