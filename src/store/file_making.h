// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <filesystem>
#include <functional>
#include <string>

namespace ncclprobe::store {

// Calls make(file) in a child with the path of an open, empty file for HDF5 to write, and renames
// that file to `target`, which it may replace. Returns what `make` returned. Leaves nothing behind
// after a failure. `workshop`: where it is made (base::AtomicFile). `meanwhile` is called in this
// process about once a second. Errors: those of `make`; io; failed, unavailable (run_in_child()).
Result<std::string>
make_file(const std::filesystem::path& target, const std::filesystem::path& workshop,
          const std::function<Result<std::string>(const std::filesystem::path&)>& make,
          const std::function<void()>& meanwhile = {});

} // namespace ncclprobe::store
