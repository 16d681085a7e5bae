"""Where a batch must be cut so that every row meets the bound that was in force when it arrived."""

from __future__ import annotations

from windrow.operators.kernels.compiled import inlined, kernel
from windrow.operators.kernels.disorder import START, note_behind, note_jump

BLOCK = 512
GRACE = 256
"""So many rows ahead of the others may come before the stream itself counts as gone there."""


@inlined
def _round_down(bound, origin, step):
    return origin + (bound - origin) // step * step


@kernel
def span(times):
    """The smallest and the largest of at least one time."""
    least, most = times[0], times[0]
    for i in range(len(times)):
        least = min(least, times[i])
        most = max(most, times[i])
    return least, most


@kernel
def cut_points(times, high, slack, bound, origin, step, cuts, bounds, first, notes):
    """Cuts under the slack policy: before row `cuts[j]` the punctuation `bounds[j]` must have been seen.

    `high` is the largest time seen before, `bound` the punctuation in force. A cut is needed only at a row below the
    punctuation that its predecessors imply. Blocks without such a row are skipped by their minimum and maximum: there
    no row but the first can be a jump. `first` is the number of the first row; `notes` are of `kernels.disorder`.
    Returns (number of cuts, new high, smallest time); -1 cuts when `cuts` is too short.
    """
    found, reach, smallest = 0, slack + step, times[0]
    for begin in range(0, len(times), BLOCK):
        end = min(begin + BLOCK, len(times))
        least, most = span(times[begin:end])
        smallest = min(smallest, least)
        ahead = max(high, most)
        if least >= _round_down(ahead - slack, origin, step):
            if least > high:
                note_jump(notes, first + begin, times[begin], high, reach, GRACE)
            high = ahead
            continue
        # `implied` is the punctuation of the rows before i; it moves only when high - slack passes `following`.
        implied = START if high == START else _round_down(high - slack, origin, step)
        following = START if high == START else implied + step
        for i in range(begin, end):
            if times[i] < implied:
                note_behind(notes, first + i, times[i], times[i], slack, 1, GRACE, high)
                if implied > bound:
                    if found == len(cuts):
                        return -1, high, smallest
                    cuts[found] = i
                    bounds[found] = implied
                    found += 1
                    bound = implied
            if times[i] > high:
                note_jump(notes, first + i, times[i], high, reach, GRACE)
                high = times[i]
                if high - slack >= following:
                    implied = _round_down(high - slack, origin, step)
                    following = implied + step
    return found, high, smallest


@kernel
def row_bounds(times, high, slack, bound, out, first, notes):
    """The bound that each row meets under the slack policy. Returns whether a row is below its own.

    `first` and `notes` as in `cut_points`.
    """
    below = False
    reach = slack + 1
    for i in range(len(times)):
        if high != START:
            bound = max(bound, high - slack)
        out[i] = bound
        if times[i] < bound:
            below = True
            note_behind(notes, first + i, times[i], times[i], slack, 1, GRACE, high)
        if times[i] > high:
            note_jump(notes, first + i, times[i], high, reach, GRACE)
            high = times[i]
    return below


@kernel
def cut_points_rows(times, highs, bound, origin, step, cuts, bounds):
    """The same for slack in rows: `highs[i]` is the largest time known to count before row i."""
    found = 0
    for i in range(len(times)):
        if highs[i] != START:
            implied = _round_down(highs[i], origin, step)
            if times[i] < implied and implied > bound:
                if found == len(cuts):
                    return -1
                cuts[found] = i
                bounds[found] = implied
                found += 1
                bound = implied
    return found


@kernel
def note_rows(times, highs, tops, rows, origin, step, first, notes):
    """Notes under slack in rows: `highs` as above, `tops[i]` is the largest time of all rows before row i.

    A row counts when `rows` others have come after it, so that is when it may be a jump; `highs` ends with what counts
    after the last row.
    """
    for i in range(len(times)):
        if highs[i] != START and times[i] < _round_down(highs[i], origin, step):
            note_behind(notes, first + i, times[i], times[i], 0, 1, GRACE, tops[i])
        if highs[i + 1] > highs[i]:
            note_jump(notes, first + i - rows, highs[i + 1], highs[i], step, GRACE)


@kernel
def note_below(times, bound, promised, first, notes):
    """Notes of rows below the bound that a punctuation set; `promised` is the punctuation before rounding."""
    for i in range(len(times)):
        if times[i] < bound:
            note_behind(notes, first + i, times[i], times[i], 0, 1, GRACE, promised)


@kernel
def group_cuts(times, values, single, codes, bounds, raised, cuts):
    """Cuts where a row is below what a punctuation before it promised for its group: before row `cuts[j]`.

    Row i is a punctuation of its group (`single`) of `values[i]`, or data at `times[i]`. What was promised before a
    cut is known there, so a later row needs none for it. `bounds` begins with START, `raised` with -1, by group.
    """
    found, start = 0, 0
    for i in range(len(times)):
        code = codes[i]
        if single[i]:
            if values[i] > bounds[code]:
                bounds[code] = values[i]
                raised[code] = i
        elif times[i] < bounds[code] and raised[code] >= start:
            cuts[found] = i
            found += 1
            start = i
    return found


@kernel
def early_rows(times, high, lead, limit, early, against):
    """Marks the rows more than `lead` above the largest time before them that was not early, or beyond the `limit`.

    `high` is the largest time of the rows before, START when there were none. `against` gets what each row is
    measured against. Returns how many are early.
    """
    found = 0
    for i in range(len(times)):
        against[i] = high
        early[i] = times[i] >= limit or (high != START and times[i] > high + lead)
        if early[i]:
            found += 1
        else:
            high = max(high, times[i])
    return found
