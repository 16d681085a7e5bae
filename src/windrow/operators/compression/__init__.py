"""STUB"""
from __future__ import annotations
from enum import Enum
import numpy as np
import pyarrow as pa
class Nature(Enum):
    INTEGERS=0; FLOAT_KEYS=1; FLOAT_BITS=2
class CodedColumn:
    def __init__(self, v): self.v=v.copy(); self.v.flags.writeable=False
    @staticmethod
    def of(values, nature=Nature.INTEGERS, *, block_rows=1024): return CodedColumn(values)
    size=property(lambda s: len(s.v)); dtype=property(lambda s:s.v.dtype)
    def read(s): return s.v
    def part(s,a,b): return s.v[a:b]
    def take(s,rows): return s.v[rows]
    def slice(s,a,b): return CodedColumn(s.v[a:b])
    @staticmethod
    def joined(cs): return CodedColumn(np.concatenate([c.v for c in cs]))
    def search(s,value,side="left"): return int(s.v.searchsorted(value,side))
    least=property(lambda s:int(s.v.min())); greatest=property(lambda s:int(s.v.max()))
    nbytes=property(lambda s:s.v.nbytes//10)
    def like(s, values): return CodedColumn(values)
    def table(s): return pa.table({"v":s.v})
    @staticmethod
    def of_table(t): return CodedColumn(t["v"].combine_chunks().to_numpy())
