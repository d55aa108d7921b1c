// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/export/event_sink.h"

#include <memory>

namespace ncclprobe::analysis::trace_export {

// Perfetto's own format, a stream of protobuf messages (github.com/google/perfetto,
// protos/perfetto/trace), for ui.perfetto.dev and trace_processor.
std::unique_ptr<EventSink> make_perfetto_sink();

} // namespace ncclprobe::analysis::trace_export
