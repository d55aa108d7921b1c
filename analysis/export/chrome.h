// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/export/event_sink.h"

#include <memory>

namespace ncclprobe::analysis::trace_export {

// The JSON of chrome://tracing ("Trace Event Format"), one object with the list traceEvents.
std::unique_ptr<EventSink> make_chrome_sink();

} // namespace ncclprobe::analysis::trace_export
