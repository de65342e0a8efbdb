"""`gateway-memory hook EVENT`, called by an editor: JSON in, JSON out within its time limit, and always exit code 0.

Whatever happens from the first line on, the editor gets the answer that its protocol calls "go on".
"""

from gateway_memory.hooks.hook import Hook, InterruptedHook


def main(arguments: list[str]) -> int:
    """Run one hook, print valid JSON, and return 0. `hooks status` and the workspace's log tell why it did nothing."""
    hook = Hook(arguments, _note)
    failed: BaseException | None = None
    try:
        try:
            hook.guard()
            from gateway_memory.hooks.dispatch import answer

            hook.answer = answer(hook)
        except InterruptedHook:
            raise
        except BaseException as error:  # noqa: BLE001 - an editor must never fail because of a hook
            failed = error
        hook.ignore_signals()
    except InterruptedHook as interrupted:
        failed = interrupted
    hook.say(failed)
    return 0


def _note(hook: Hook, error: BaseException | None, seconds: float) -> None:
    import contextlib

    with contextlib.suppress(Exception):  # the editor has its answer
        from gateway_memory.hooks.outcome import note

        note(hook, error, seconds)
