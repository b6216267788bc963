# SPDX-FileCopyrightText: The Pumice authors
# SPDX-License-Identifier: Apache-2.0
"""A VGF file, damaged."""
import random


def damaged(whole, count, seed):
    """`count` files: cut somewhere, or with bits, bytes or words of it changed. None is the whole one."""
    rng = random.Random(seed)
    for i in range(count):
        kind = i % 4
        if kind == 0:
            yield whole[:rng.randrange(len(whole))]
            continue
        made = bytearray(whole)
        while made == whole:
            for _ in range(rng.choice((1, 1, 2, 8))):
                at = rng.randrange(len(made))
                if kind == 1:
                    made[at] ^= 1 << rng.randrange(8)
                elif kind == 2:
                    made[at] = rng.choice((0, 1, 0x7f, 0x80, 0xff))
                else:
                    word = rng.choice((0, 1, 0xffffffff, 0x7fffffff, 0x80000000, len(made), rng.getrandbits(32)))
                    made[at & ~3:(at & ~3) + 4] = word.to_bytes(4, "little")[:len(made) - (at & ~3)]
        yield bytes(made)
