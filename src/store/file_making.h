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

// The error of a file that can be made again: an io error also says that `sources` ("the parts
// in run.h5.parts") are kept. Other errors stay as they are.
Error with_sources_kept(Error error, const std::string& sources);

} // namespace ncclprobe::store
