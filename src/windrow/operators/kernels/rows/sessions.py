"""Sessions: which rows, and which sessions, come together."""

from __future__ import annotations

from windrow.operators.kernels.compiled import kernel


@kernel
def label_sessions(codes, starts, lasts, gap, labels):
    """Number the sessions that intervals, sorted by (code, start), form when at most `gap` apart. Returns how many."""
    count = -1
    reach = 0
    for i in range(len(codes)):
        if i == 0 or codes[i] != codes[i - 1] or starts[i] - reach > gap:
            count += 1
            reach = lasts[i]
        else:
            reach = max(reach, lasts[i])
        labels[i] = count
    return count + 1


@kernel
def assign_rows(codes, times, session_codes, session_starts, session_lasts, out):
    """For rows sorted by (code, time): the session (sorted by (code, start)) each lies in, or -1."""
    s = 0
    for i in range(len(codes)):
        while s < len(session_codes) and (
            session_codes[s] < codes[i] or (session_codes[s] == codes[i] and session_lasts[s] < times[i])
        ):
            s += 1
        inside = s < len(session_codes) and session_codes[s] == codes[i] and session_starts[s] <= times[i]
        out[i] = s if inside else -1
