"""One run of a report: its state, the snapshot it is made from, the job and its results."""
