"""The forms of exports of grants, one module each: they parse rows into facts (docs/grants-exports.md).

`readers` says which module reads which form; `lines` reads files line by line; `row_facts` is what a form tells of a
row; `csv_rows`, `csv_grants` and `sql_names` are shared by forms in CSV.
"""
