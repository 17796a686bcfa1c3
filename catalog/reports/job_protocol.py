"""The agreement between the worker and the programs of jobs: exit codes, and the line after the log of a job."""

#: Exit codes of a job: done, invalid input, failed for another reason.
EXIT_DONE, EXIT_BAD_INPUT, EXIT_FAILED = 0, 10, 11

#: The last line of a job on standard error of a program that goes on to the next one.
END_LINE = "-- end of the job --"
