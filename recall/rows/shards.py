"""The index that a scope belongs to, where several servers have one."""

from hashlib import blake2b

# In `meta`: which scopes a server has, where the rows are on several; see gateway_memory/store/postgres/shards.py.
SHARD = "shard"


def shard_of(scope: str, shards: int) -> int:
    """Return which of several stores has the rows of a scope, from 0. One store more takes its share; no other moves.

    The weights are those of rendezvous hashing.
    """

    def weight(number: int) -> bytes:
        return blake2b(f"{number} {scope}".encode(), digest_size=8).digest()

    return max(range(shards), key=weight) if shards > 1 else 0
