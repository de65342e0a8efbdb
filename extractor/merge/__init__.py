"""What becomes of a candidate beside the memories there are."""
