// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/document.h"

#include "base/json_document.h"
#include "model/run.h"
#include "model/survey.h"

// The model as documents: messages between supervisors and workers, and JSON. Its types describe
// themselves beside their declarations. This file has those with another representation.
namespace ncclprobe::model {

using base::parse_json;
using base::write_json;

// Only the common value if there are no exceptions.
template <typename T>
void write_as(base::Writer& out, const PerRank<T>& value) {
  if (out.has_names() && value.exceptions.empty())
    return base::write_value(out, value.common);
  out.object();
  out.key("common");
  base::write_value(out, value.common);
  out.key("exceptions");
  base::write_value(out, value.exceptions);
  out.end();
}
template <typename T>
void read_as(base::Reader& in, PerRank<T>& value) {
  value.exceptions.clear();
  if (!in.is_object())
    return base::read_value(in, value.common);
  in.object();
  in.key("common", base::Reader::IfMissing::refuse);
  base::read_value(in, value.common);
  in.key("exceptions", base::Reader::IfMissing::refuse);
  base::read_value(in, value.exceptions);
  in.end();
}

// {"absolute": 1} or {"relative": 1}.
void write_as(base::Writer& out, const Peer& value);
void read_as(base::Reader& in, Peer& value);

// The fields of its content, its "kind", and "ranks" unless all take part.
void write_as(base::Writer& out, const Operation& value);
void read_as(base::Reader& in, Operation& value);

} // namespace ncclprobe::model

// Compiled once, in document.cpp.
#define NCCLPROBE_MODEL_DOCUMENTS(f)                                                               \
  f(Setting) f(Outcome) f(Schedule) f(Cell) f(TrialSpec) f(CellRecord) f(WorkerRecord) f(Evidence) \
      f(HostInventory) f(Survey) f(RunHeader)
#define NCCLPROBE_DECLARE_DOCUMENT(Type)                                                           \
  extern template void ncclprobe::base::write_fields(Writer&, const ncclprobe::model::Type&);      \
  extern template void ncclprobe::base::read_fields(Reader&, ncclprobe::model::Type&);
NCCLPROBE_MODEL_DOCUMENTS(NCCLPROBE_DECLARE_DOCUMENT)
