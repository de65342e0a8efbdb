"""Where hosts meet the package: what they hand in, what they get raised, what stands in the way."""
