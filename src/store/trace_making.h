// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/trace_convert.h"

#include <functional>

namespace ncclprobe::store {

// Calls make(temporary) in a child and publishes what it wrote as `target`; leaves nothing behind
// when it fails.
base::Result<TraceReport>
make_trace_file(const std::filesystem::path& target,
                const std::function<base::Result<TraceReport>(const std::filesystem::path&)>& make,
                const std::function<void()>& meanwhile = {});

} // namespace ncclprobe::store
