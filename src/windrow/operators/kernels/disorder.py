"""What is noted of rows below the bound: how far they were behind, and which row had moved progress past them.

Notes are a small array. Rows in time cost nothing; only jumps of the largest time and rows below the bound are noted,
so what is noted depends on the rows and not on how they were cut into batches. A *step* is a row, or where the order
of rows is not defined a micro-batch.

A jump is a step that moves the largest time further than `reach` at once. The jump under watch is the `CURRENT` one:
rows after it that are below its own bound, but not below the bound before it, were made late by it. It gives way to a
larger jump; and once most steps since (and more than `grace`) were not behind it, the stream itself had gone there.
"""

from __future__ import annotations

from windrow.operators.kernels.compiled import shared

START, END = -(1 << 63), (1 << 63) - 1
BEHIND, BELOW = 0, 1
"""The most that a row below the bound was behind what it was measured against; how many rows were below the bound."""
CURRENT, WORST, SIZE = 2, 9, 16
"""Where the jump under watch begins, where the one so far that made most rows late, and how many notes there are."""
STEP, TIME, BASE, STEPS, ROWS, LEAST, MOST = range(7)
"""Of a jump: at which step (-1: there was none), to which time, from which; the steps and rows behind it, and from and
to which times these are."""


@shared
def note_jump(notes, step, time, high, reach, grace):
    """The largest time moved from `high` (START: there was none) to `time`."""
    if high != START and time - high <= reach:
        return
    base = notes[CURRENT + BASE]
    if is_watched(notes, step, grace) and base != START and time - high < notes[CURRENT + TIME] - base:
        return
    retire(notes)
    notes[CURRENT + STEP] = step
    notes[CURRENT + TIME] = time
    notes[CURRENT + BASE] = high


@shared
def note_behind(notes, step, least, time, slack, rows, grace, against):
    """So many rows, of times from `least` up to `time`, are below the bound; `least` was measured `against` this."""
    notes[BEHIND] = max(notes[BEHIND], against - least)
    notes[BELOW] += rows
    if not is_watched(notes, step, grace):
        retire(notes)
        return
    base = notes[CURRENT + BASE]
    if time >= notes[CURRENT + TIME] - slack or (base != START and time < base - slack):
        return
    notes[CURRENT + STEPS] += 1
    notes[CURRENT + ROWS] += rows
    notes[CURRENT + LEAST] = min(notes[CURRENT + LEAST], least)
    notes[CURRENT + MOST] = max(notes[CURRENT + MOST], time)


@shared
def is_watched(notes, step, grace):
    """Whether there is a jump that the stream has not caught up with."""
    since = step - notes[CURRENT + STEP]
    return notes[CURRENT + STEP] >= 0 and since <= 2 * notes[CURRENT + STEPS] + grace


@shared
def retire(notes):
    """The jump under watch is over: keep it if it made more rows late than any before."""
    if notes[CURRENT + ROWS] > notes[WORST + ROWS]:
        for i in range(MOST + 1):
            notes[WORST + i] = notes[CURRENT + i]
    notes[CURRENT + STEP] = -1
    notes[CURRENT + STEPS] = 0
    notes[CURRENT + ROWS] = 0
    notes[CURRENT + LEAST] = END
    notes[CURRENT + MOST] = START
