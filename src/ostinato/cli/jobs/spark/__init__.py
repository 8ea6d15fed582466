"""One run of a verb with `--engine spark`."""

from ostinato.cli.hidden_pandas import show_pandas

show_pandas()
