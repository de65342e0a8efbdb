"""`gateway-memory`: hooks and an agent's search skip the command line, whose imports take half a second."""

import os
import sys


def main() -> int:
    """Run the command that was given; returns the exit code."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the parent process has closed it
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - until the end
    if sys.argv[1:2] == ["hook"]:
        from gateway_memory.hooks.run import main as hook

        return hook(sys.argv[2:])
    if sys.argv[1:2] == ["search"] and any(each.startswith(("--max-results", "--semantic")) for each in sys.argv):
        from gateway_memory.cli.quick_search import main as search

        return search(sys.argv[2:])
    from gateway_memory.cli.main import main as command_line

    return command_line()


if __name__ == "__main__":
    raise SystemExit(main())
