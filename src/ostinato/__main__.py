"""`python -m ostinato`: the command line."""

from ostinato.cli import main

main()
