"""The engine: batches, order, windows, waiting matches, answers, snapshots. Embedded runs and Spark tasks share it."""
