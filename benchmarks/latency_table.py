"""The measurements of latency.py as lines."""

from typing import Any

__all__ = ["table"]


def table(result: dict[str, Any]) -> str:
    """Return the result as lines."""
    over = f" over {result['scopes']} scopes" if result["scopes"] > 1 else ""
    repeated = f", {result['distinct_texts']} distinct texts" if result["distinct_texts"] < result["memories"] else ""
    beside = f" and {result['episodes']} exchanges" if result["episodes"] else ""
    lines = [f"{result['memories']} memories{beside}{over}{repeated}"]
    for length in (20, 100, 500):
        row = result[f"before_reply_{length}"]
        floor, means = row["floor"], row["floor_means"]
        whole = sum(row["stages"].values())
        lines.append(
            f"  before_reply, {length:>3} characters: p50 {row['p50']:6.1f}  p95 {row['p95']:6.1f}"
            f"  p99 {row['p99']:6.1f} ms"
            f"   floor p95 {floor['sum']:6.1f} (encoder {floor['encoder']:.1f}, product {floor['product']:.1f},"
            f" words {floor['words']:.1f})   {row['p95_over_floor']:.2f} x   {'/'.join(row['outcomes'])}"
        )
        shares = sorted(row["stages"].items(), key=lambda stage: -stage[1])
        lines.append(
            f"      of the mean {whole:.1f} ms: "
            + ", ".join(f"{name} {value:.1f} ({value / whole:.0%})" for name, value in shares)
            + "; the floors' means: "
            + ", ".join(f"{name} {value:.1f}" for name, value in means.items())
        )
    for name, key in (
        ("before_reply, 50 at once, 20 chars", "at_once_20"),
        ("before_reply, 50 at once, 100 chars", "at_once_100"),
        ("before_reply, a scope that rested", "rested"),
        ("after_reply", "after_reply"),
        ("a bare commit to the same disk", "commit"),
    ):
        if key in result:
            row = result[key]
            numbers = f"p50 {row['p50']:6.1f}  p95 {row['p95']:6.1f}  p99 {row['p99']:6.1f} ms"
            lines.append(f"  {name + ':':<36}{numbers}")
    for name, key in (
        ("building", "building"),
        ("opening", "opening"),
        ("sessions starting", "starting"),
        ("before_reply", "before_reply"),
        ("before_reply, 50 at once", "at_once"),
        ("after_reply", "after_reply"),
        ("nothing but the bare encoder in a thread", "bare"),
    ):
        stall = result["stalls"][key]
        lines.append(
            f"  longest stall of the loop, {name}: {stall['longest_ms']:.1f} ms"
            f", at least {stall['own_ms']:.1f} ms of it not the machine's"
        )
    whole_rss = f", {result['rss_all_mb']:.0f} MB after every scope was used" if "rss_all_mb" in result else ""
    lines.append(
        f"  open {result['open_ms']:.0f} ms, first session after {result['first_session_ms']:.0f} ms,"
        f" RSS {result['rss_mb']:.0f} MB{whole_rss}"
    )
    lines.append(
        f"  a second: {result['indexed_per_second']:.0f} indexed, {result['embedded_per_second']:.0f} embedded,"
        f" {result['memories_added_per_second']:.0f} added by turns"
    )
    return "\n".join(lines)
