// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// How a row type describes itself to files: an overload `columns(Row)` returns a tuple of these,
// one per column, which writers and readers use. It is a template: widely included headers contain
// it, and only the few sources that use it compile the tuple.
namespace ncclprobe::base {

template <typename Row, typename T>
struct Column {
  using Value = T;
  const char* name;
  T Row::*field;
  const char* about;
  int since_minor; // version 1.x of the schema that introduced it
};
template <typename Row, typename T>
constexpr Column<Row, T> column(const char* name, T Row::*field, const char* about,
                                int since_minor = 0) {
  return {name, field, about, since_minor};
}

} // namespace ncclprobe::base
