"""The log of decisions and the counts of uses: kept during requests, written in batches, read by pages and reports."""
