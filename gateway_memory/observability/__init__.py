"""Counters, gauges and logs."""
