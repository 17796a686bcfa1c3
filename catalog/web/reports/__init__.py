"""/reports: kinds of reports and their runs, results, what differs between two of them, and findings."""
