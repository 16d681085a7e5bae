"""The header of a frame: 20 bytes in front of records of one length, the lowest byte of its numbers first.

    magic "WNDR" | version 1 | flags | count of records (2) | schema id (4) | sequence number (8) | records ...

Sequence numbers count the frames of a sender from 0, so that a reader knows of frames that were lost. The schema id is
a number that two layouts of records hardly ever share.
"""

from __future__ import annotations

import struct

MAGIC, VERSION = b"WNDR", 1
HEADER = struct.Struct("<4sBBHIQ")
MOST_BYTES = 1472
"""What an Ethernet frame of 1500 bytes leaves to a datagram."""
MOST_RECORDS = 0xFFFF

ENDS = 1
"""The flag of the last frame of a stream."""
PUNCTUATES = 2
"""The records are promises, numbers of 8 bytes: no row below comes any more."""
NULLS = 4
"""Each record begins with a bit for each column, from the lowest one on, set where its value is NULL."""
BIG = 8
"""The numbers in the records have their highest byte first."""
UNNUMBERED = 16
"""The sequence number says nothing."""
KNOWN = ENDS | PUNCTUATES | NULLS | BIG | UNNUMBERED
