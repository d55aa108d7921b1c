// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "model/document.h"

#include <array>

namespace ncclprobe::model {

using IfMissing = base::Reader::IfMissing;

void write_as(base::Writer& out, const Peer& value) {
  const bool absolute = value.kind == Peer::Kind::absolute;
  out.object();
  if (!out.has_names())
    out.boolean(absolute);
  out.key(absolute ? "absolute" : "relative");
  out.integer(value.value);
  out.end();
}

void read_as(base::Reader& in, Peer& value) {
  in.object();
  const bool absolute = in.has_names() ? in.key("absolute", IfMissing::skip) : in.boolean();
  value.kind = absolute ? Peer::Kind::absolute : Peer::Kind::relative;
  if (!absolute)
    in.key("relative", IfMissing::refuse);
  base::read_value(in, value.value);
  in.end();
}

constexpr auto alternative_names(base::Of<decltype(Operation::what)>) {
  return std::to_array<std::string_view>({"collective", "send", "recv", "copy", "spin", "barrier",
                                          "group_begin", "group_end", "record_event", "wait_event",
                                          "marker", "chase", "gemm", "convert", "optimizer"});
}

void write_as(base::Writer& out, const Operation& value) {
  out.object();
  base::write_fields(out, value.what);
  if (!out.has_names() || !value.ranks.empty()) {
    out.key("ranks");
    base::write_value(out, value.ranks);
  }
  out.end();
}

void read_as(base::Reader& in, Operation& value) {
  in.object();
  base::read_fields(in, value.what);
  if (in.key("ranks", IfMissing::skip))
    base::read_value(in, value.ranks);
  in.end();
}

} // namespace ncclprobe::model

#define NCCLPROBE_DEFINE_DOCUMENT(Type)                                                            \
  template void ncclprobe::base::write_fields(Writer&, const ncclprobe::model::Type&);             \
  template void ncclprobe::base::read_fields(Reader&, ncclprobe::model::Type&);
NCCLPROBE_MODEL_DOCUMENTS(NCCLPROBE_DEFINE_DOCUMENT)
