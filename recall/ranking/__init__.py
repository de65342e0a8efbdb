"""From a query and rows to a ranking."""
