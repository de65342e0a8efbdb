"""What the page, the service's lists and a wiki show of a memory."""
