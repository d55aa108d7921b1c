// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include "base/described.h"

// The machine as a document: a fact is {"value": ..., "source": "nvml"}, or null if it is unknown;
// a path is its label.
namespace ncclprobe::topology {

template <typename T>
void write_as(base::Writer& out, const Fact<T>& fact) {
  out.optional(fact.value.has_value());
  if (!fact)
    return;
  out.object();
  out.key("value");
  base::write_value(out, *fact);
  out.key("source");
  base::write_value(out, fact.source);
  out.end();
}
template <typename T>
void read_as(base::Reader& in, Fact<T>& fact) {
  fact = {};
  if (!in.optional())
    return;
  in.object();
  in.key("value", base::Reader::IfMissing::refuse);
  base::read_value(in, fact.value.emplace());
  in.key("source", base::Reader::IfMissing::refuse);
  base::read_value(in, fact.source);
  in.end();
}

void write_as(base::Writer& out, const Path& path);
void read_as(base::Reader& in, Path& path);

} // namespace ncclprobe::topology

// Compiled once, in document.cpp.
extern template void ncclprobe::base::write_fields(Writer&, const ncclprobe::topology::Host&);
extern template void ncclprobe::base::read_fields(Reader&, ncclprobe::topology::Host&);
