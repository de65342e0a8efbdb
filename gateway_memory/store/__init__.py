"""What is kept on disk: Markdown (the truth) and the journal (what must survive a crash)."""
