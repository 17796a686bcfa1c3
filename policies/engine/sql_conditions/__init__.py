"""Row conditions in the SQL of databases other than Spark, each exactly what Spark makes of it, or refused.

A condition is Spark SQL; the types of the columns are not known here. So every node has to be on the list of a dialect
(`postgres`, `sqlite`), and its translation is right whatever the types are: where it would not be, the database refuses
the query, or a guard leaves out the rows whose values are of another kind. docs/datazone.md lists what is translated,
and `tests/spark/test_sql_cells.py` compares every form with Spark, cell by cell.
"""
