"""One run of a verb with `--engine spark`."""
