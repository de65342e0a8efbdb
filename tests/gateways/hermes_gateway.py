"""Run by Hermes' Python: the whole gateway, as `hermes gateway run` starts it."""

from gateway.run import main

main()
