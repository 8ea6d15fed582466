"""The sequential hearts of MATCH_RECOGNIZE, as kernels over flat arrays."""
