"""Windows that end with rows: which rows close one, which cells come and go with it, late rows into their place.

The schedule has the shape that `kernels.panes.sliding` follows; cells are single rows here, sorted by time.
"""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import kernel
from windrow.operators.kernels.panes import sliding
from windrow.operators.kernels.panes.cells import FEW

SILENT, CLOSES, CLOSED, UNCOUNTED = 0, 1, 2, 3
"""What a row does to the window that ends with it: nothing, closes it, has closed it; or that is not known yet."""


@kernel
def count_off(codes, every, counters, marks):
    """Which uncounted rows are the `every`-th of their group; `counters` hold how many it has had since the last."""
    for i in range(len(codes)):
        if marks[i] == UNCOUNTED:
            counters[codes[i]] += 1
            marks[i] = CLOSES if counters[codes[i]] == every else SILENT
            if marks[i] == CLOSES:
                counters[codes[i]] = 0


@kernel
def plan_ends(times, codes, count, position, ends, end_codes, first, reach, by_group, steps):
    """Which of the rows 0..count leave and enter with each of the windows `(end - reach, end]`, numbered from `first`.

    Rows that lie between two windows are passed over. With `by_group`, rows and windows are sorted by group first, and
    a window holds rows of its own group alone. OUT_TO is one answer a window, for schedules that have it so.
    """
    tail, head = position[sliding.TAIL], position[sliding.HEAD]
    for s in range(len(ends)):
        end, code = ends[s], end_codes[s] if by_group else 0
        steps[s, sliding.WINDOW], steps[s, sliding.POP_FROM] = first + s, tail
        while tail < head and (end - times[tail] >= reach or (by_group and codes[tail] != code)):
            tail += 1
        steps[s, sliding.POP_TO] = tail
        while head < count and (end - times[head] >= reach or (by_group and codes[head] < code)):
            head += 1
            tail = head
        steps[s, sliding.PUSH_FROM] = head
        while head < count and times[head] <= end and not (by_group and codes[head] != code):
            head += 1
        steps[s, sliding.PUSH_TO], steps[s, sliding.TAIL_TO] = head, tail
        steps[s, sliding.OUT_TO], steps[s, sliding.FOLLOWING] = s + 1, first + s + 1


@kernel
def insert_rows(late_times, late_codes, times, codes, count, origins):
    """Sorted late rows into the sorted rows 0..count, in place; only rows after the earliest of them move.

    `origins` gets where each row from there on came from, ~place for a late one. There must be room.
    """
    i, j = count - 1, len(late_times) - 1
    to = count + j
    for k in range(len(origins) - 1, -1, -1):
        if j < 0 or (i >= 0 and times[i] > late_times[j]):
            times[to], codes[to], origins[k] = times[i], codes[i], i
            i -= 1
        else:
            times[to], codes[to], origins[k] = late_times[j], late_codes[j], ~j
            j -= 1
        to -= 1


@kernel
def insert_states(origins, first, late, states):
    """The state of rows along with them: those from `first` on come from `origins`.

    There is no copy of what moves, so the last ones go first.
    """
    columns = states.shape[1]
    if columns > FEW:
        for k in range(len(origins) - 1, -1, -1):
            if origins[k] >= 0:
                states[first + k] = states[origins[k]]
            else:
                states[first + k] = late[~origins[k]]
        return
    for j in range(columns):
        for k in range(len(origins) - 1, -1, -1):
            states[first + k, j] = states[origins[k], j] if origins[k] >= 0 else late[~origins[k], j]


@kernel
def missed_ends(times, bounds, codes, ends, end_codes, counts, firsts, lasts):
    """For late rows: how many of the sorted ends lie from each to its bound, of its group, the first and the last.

    Where there is none, `firsts` and `lasts` stay as they are. The cost is that of the ends a row is late for.
    """
    for i in range(len(times)):
        at = np.searchsorted(ends, bounds[i])
        while at > 0 and ends[at - 1] >= times[i]:
            at -= 1
            if end_codes[at] == codes[i]:
                if counts[i] == 0:
                    lasts[i] = ends[at]
                firsts[i] = ends[at]
                counts[i] += 1
