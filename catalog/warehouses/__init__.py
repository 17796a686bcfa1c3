"""Warehouses: a folder for each system says how its exports look, what privileges mean, and how access changes.

`warehouse` is what every system has to say, `registry` knows the systems; `exports` reads exports.json. `files/` reads
lines, and the modules beside are what systems share: facts of grants, layouts of columns, histories of access.
docs/warehouses/extending.md says how one is added. Nothing here imports Django.
"""
