"""The sample company: Fernweh Outdoor, a shop for people who would rather be outside, as files that the site reads.

`python -m catalog.sample [FOLDER]` writes the catalog and the exports of grants. `data` holds names and rules.
"""
