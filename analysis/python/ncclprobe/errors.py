# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""The one exception of this package."""


class Error(Exception):
    """Something that cannot be read, computed or drawn.

    Attributes:
        what: what is wrong, as one sentence.
        where: the file or program that it is about; empty if there is none.
        hint: what to do about it; empty if nothing is known.
    """

    def __init__(self, what, where="", hint=""):
        self.what, self.where, self.hint = what, str(where), hint
        super().__init__((f"{where}: " if where else "") + what + (f" ({hint})" if hint else ""))
