"""Reports: the snapshot a run reads, the jobs that Spark runs, results and findings."""
