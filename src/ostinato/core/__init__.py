"""What every language stands on: expressions, types, time, Arrow columns, query text, kernels, snapshots."""
