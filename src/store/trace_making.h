// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/trace_convert.h"

#include <functional>

namespace ncclprobe::store {

// Calls make(file) in a child with the path of an open, empty file for HDF5 to write, and renames
// that file to `target`. Leaves nothing behind after a failure. `workshop`: where it is made
// (base::AtomicFile).
Result<TraceReport>
make_trace_file(const std::filesystem::path& target, const std::filesystem::path& workshop,
                const std::function<Result<TraceReport>(const std::filesystem::path&)>& make,
                const std::function<void()>& meanwhile = {});

} // namespace ncclprobe::store
