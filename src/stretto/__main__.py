"""`python -m stretto` is the command line."""

from stretto.cli import main

main()
