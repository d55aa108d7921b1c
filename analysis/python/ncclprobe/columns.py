# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Columns of ncclprobe's HDF5 files as numpy and pandas values.

docs/run-file-tables.md lists the tables of a run file. Each table is a group, and each column a dataset.
"""
import contextlib
import functools
import pathlib

import numpy
import pandas

from .errors import Error

try:
    import h5py
except ImportError as error: # it is no dependency of the package for pip: see pyproject.toml
    raise ImportError("ncclprobe needs h5py: install python3-h5py (Debian, Ubuntu), or `pip install h5py`") from error


def open_file(path, schema, what, major):
    """Opens an HDF5 file of ncclprobe for reading.

    Args:
        path: the file.
        schema: the value that its attribute `schema` must have, such as "ncclprobe.run".
        what: what such a file is called, such as "run file".
        major: the major version of the schema that this package reads.
    Raises:
        Error: there is no such file, or it is something else, or its version differs.
    """
    path = pathlib.Path(path)
    if path.is_dir():
        raise Error(f"this is a folder, not a {what}", path,
                    "`ncclprobe report FOLDER` shows a captured job, `ncclprobe export FOLDER --csv tables/` writes its tables")
    if not path.exists():
        unfinished = pathlib.Path(f"{path}.parts").is_dir()
        raise Error("this run is not finished: only its parts are there" if unfinished else "there is no such file", path,
                    f"`ncclprobe report {path} --fold` makes the run file of the trials that are done" if unfinished else "")
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        readable = h5py.is_hdf5(path)
        raise Error(f"this HDF5 file cannot be read: {error}" if readable else "this is not an HDF5 file, or it is damaged",
                    path, f"ncclprobe writes {what}s as HDF5") from error
    try:
        with damage_named("this HDF5 file", path):
            check_schema(file, path, schema, what, major)
    except Error:
        file.close()
        raise
    return file


OTHER_FILES = {
    "ncclprobe.run": "this is a run file; read it with ncclprobe.load()",
    "ncclprobe.trace": "this is a trace, not a run file; read it with ncclprobe.load_trace()",
}


def check_schema(file, path, schema, what, major):
    """Raises Error if the file has another schema, or another major version of it."""
    found = file.attrs.get("schema")
    if found != schema:
        raise Error(OTHER_FILES.get(found, f"this HDF5 file is no {what} of ncclprobe"), path)
    version = [int(part) for part in numpy.ravel(file.attrs.get("schema_version", [0, 0]))]
    if version[0] != major:
        writer = "a newer" if version[0] > major else "an older"
        raise Error(f"this {what} has schema version {'.'.join(map(str, version))}; this package reads {major}.x", path,
                    f"it was written by {writer} ncclprobe: install the Python package of that one")
    if file.attrs.get("kind", "run") != "run":
        raise Error("this is a part of an unfinished run, not a run file", path,
                    "`ncclprobe report RUN.h5 --fold` makes the run file")


# What h5py and pandas raise for a damaged file.
DAMAGE = (OSError, KeyError, IndexError, ValueError, AttributeError, TypeError, RuntimeError, OverflowError, MemoryError)


def frame(read):
    """A cached property of an OpenFile. It raises Error where the file is damaged."""
    @functools.wraps(read)
    def checked(self):
        with damage_named(read.__name__.lstrip("_"), self.path):
            return read(self)
    return functools.cached_property(checked)


@contextlib.contextmanager
def damage_named(what, path):
    """Raises Error in place of what h5py and pandas raise for a damaged file."""
    try:
        yield
    except DAMAGE as error:
        raise Error(f"{what} cannot be read: {error}", path, "the file is damaged") from error


def check_open(file, path):
    """Raises Error if the file was closed."""
    if not file:
        raise Error("the file is closed", path, "open it again; frames that were read before stay")


class OpenFile:
    """An HDF5 file of ncclprobe that is open until close() or the end of a with block."""

    def __init__(self, path, schema, what, major):
        self.path = path
        self._file = open_file(path, schema, what, major)
        self._texts = Texts(self._file)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Closes the file. Frames that were read stay."""
        self._file.close()


class Texts:
    """The texts of a file. Each is stored once, and columns hold their numbers."""

    def __init__(self, file):
        self._file = file
        self._blob = None

    def of(self, numbers):
        """The texts with these numbers, as an array of objects. Bytes that are no UTF-8 become U+FFFD."""
        unique, inverse = numpy.unique(numbers, return_inverse=True)
        return self._words(unique)[inverse]

    def categories_of(self, numbers):
        """The same as a pandas.Categorical, which needs a byte or two for each row."""
        unique, inverse = numpy.unique(numbers, return_inverse=True)
        codes, words = pandas.factorize(self._words(unique)) # damaged texts may become equal
        return compact_categories(codes[inverse], words)

    def _words(self, numbers):
        if self._blob is None:
            self._blob, self._offset = self._file["strings/blob"][:].tobytes(), self._file["strings/offset"][:].astype(numpy.int64)
        begin, end = self._offset[numbers], self._offset[numbers.astype(numpy.int64) + 1]
        words = numpy.empty(len(numbers), object)
        words[:] = [self._blob[a:b].decode(errors="replace") for a, b in zip(begin, end)]
        return words


def compact_categories(codes, categories):
    """A pandas.Categorical with the smallest codes that fit; code -1 is a missing value."""
    kind = numpy.min_scalar_type(-max(len(categories), 1))
    return pandas.Categorical.from_codes(numpy.asarray(codes, kind), categories)


def choices_of(dataset, values):
    """The words of an enumeration's values as a pandas.Categorical. A value that has no label becomes its number."""
    labels = [str(label) for label in dataset.attrs["labels"]]
    most = int(values.max()) + 1 if len(values) else 0
    words = [*labels, *(str(value) for value in range(len(labels), most))]
    codes, unique = pandas.factorize(numpy.array(words, object)) # a gap between values has an empty label
    return compact_categories(codes[values], unique)


# How pandas stores integers that may be missing.
NULLABLE = {"u": "UInt64", "i": "Int64"}


def column_of(dataset, texts):
    """A column of a run file in the type that fits: text, choice, boolean, or a number.

    A column whose values can be missing has pandas' nullable type (Int64, UInt64, boolean), or None for a text.
    """
    about, missing = str(dataset.attrs.get("about", "")), dataset.attrs.get("missing")
    values = dataset[:]
    if "labels" in dataset.attrs:
        return numpy.asarray(choices_of(dataset, values), object)
    absent = None if missing is None else values == missing
    if dataset.dtype == numpy.uint32 and not about.startswith("row in /"):
        if absent is None:
            return texts.of(values)
        words = texts.of(numpy.where(absent, 0, values))
        words[absent] = None
        return words
    if dataset.dtype == numpy.uint8:
        return values.astype(bool) if absent is None else pandas.array(
            numpy.where(absent, None, values == 1), dtype="boolean")
    if absent is None:
        return values
    numbers = pandas.array(numpy.where(absent, 0, values), dtype=NULLABLE[dataset.dtype.kind])
    numbers[absent] = pandas.NA
    return numbers


def table_of(group, texts):
    """A table of a run file as a frame, one column for each of its columns."""
    return frame_of({name: column_of(dataset, texts) for name, dataset in group.items()})


def frame_of(found):
    """A frame of columns by name. pandas would copy all of them to lay equal types side by side."""
    return pandas.DataFrame(found, copy=False)
