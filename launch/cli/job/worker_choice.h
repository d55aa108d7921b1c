// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::cli {

// The worker that a host runs. A build has one, ncclprobe-worker. A package has
// ncclprobe-worker-cpu and one for each major version of CUDA, such as ncclprobe-worker-cuda13: the
// static CUDA runtime in it needs a driver of that version or a later one.
struct WorkerChoice {
  std::filesystem::path program;
  std::string because; // empty: there was nothing to choose
};

// What the driver says of itself.
struct CudaDriver {
  std::optional<int> cuda; // the newest CUDA that it supports: 13000
  std::string problem;     // why that is unknown
};

// Of the workers of a package. `installed` has at least one name, such as "cpu" and "cuda13".
// Returns one of them.
struct WorkerVariant {
  std::string name;
  std::string because;
};
WorkerVariant choose_variant(const std::vector<std::string>& installed, const CudaDriver& driver);

// The worker beside ncclprobe. Starts one of them to ask the driver, if there are several.
WorkerChoice choose_worker(const std::filesystem::path& folder,
                           const std::vector<std::string>& environment);

} // namespace ncclprobe::cli
