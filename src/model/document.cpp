// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "model/document.h"

#include <algorithm>

namespace ncclprobe::model {

using base::Errc;
using base::raise;
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

namespace {

using What = decltype(Operation::what);

// Name of each alternative of Operation::what, in the variant's order.
constexpr base::EnumName k_operation_kinds[] = {
    {0, "collective"},   {1, "send"},       {2, "recv"},        {3, "copy"},
    {4, "spin"},         {5, "barrier"},    {6, "group_begin"}, {7, "group_end"},
    {8, "record_event"}, {9, "wait_event"}, {10, "marker"},     {11, "chase"},
    {12, "gemm"},        {13, "convert"},   {14, "optimizer"}};
static_assert(std::size(k_operation_kinds) == std::variant_size_v<What>);

template <std::size_t... Index>
void read_alternative(base::Reader& in, std::size_t kind, What& what,
                      std::index_sequence<Index...>) {
  ((kind == Index ? base::read_fields(in, what.emplace<Index>()) : void()), ...);
}

} // namespace

void write_as(base::Writer& out, const Operation& value) {
  out.object();
  out.key("kind");
  out.choice(value.what.index(), k_operation_kinds[value.what.index()].name);
  std::visit([&](const auto& what) { base::write_fields(out, what); }, value.what);
  if (!out.has_names() || !value.ranks.empty()) {
    out.key("ranks");
    base::write_value(out, value.ranks);
  }
  out.end();
}

void read_as(base::Reader& in, Operation& value) {
  in.object();
  in.key("kind", IfMissing::refuse);
  read_alternative(in, in.choice(k_operation_kinds), value.what,
                   std::make_index_sequence<std::variant_size_v<What>>());
  if (in.key("ranks", IfMissing::skip))
    base::read_value(in, value.ranks);
  in.end();
}

} // namespace ncclprobe::model

#define NCCLPROBE_DEFINE_DOCUMENT(Type)                                                            \
  template void ncclprobe::base::write_fields(Writer&, const ncclprobe::model::Type&);             \
  template void ncclprobe::base::read_fields(Reader&, ncclprobe::model::Type&);
NCCLPROBE_MODEL_DOCUMENTS(NCCLPROBE_DEFINE_DOCUMENT)
