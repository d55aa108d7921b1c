// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/trace_convert.h"

#include <functional>

namespace ncclprobe::store {

// make_file() for what reports on a trace.
Result<TraceReport>
make_trace_file(const std::filesystem::path& target, const std::filesystem::path& workshop,
                const std::function<Result<TraceReport>(const std::filesystem::path&)>& make,
                const std::function<void()>& meanwhile = {});

} // namespace ncclprobe::store
