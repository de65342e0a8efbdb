"""The rows on disk and in memory."""
