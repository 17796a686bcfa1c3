"""The inbox: notices as rows, which the bell counts and a page lists."""
