"""Parts of a job on Spark: a quiet session, reading files and folders, writing a folder, following a stream."""
