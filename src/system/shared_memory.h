// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/survey.h"

#include <filesystem>

namespace ncclprobe::system {

// A folder of shared memory: its file system, and the segments in it that NCCL, CUDA, MPI or this
// program made. Nothing if there is no such folder. Creates a file there for a moment, without a
// name where the file system allows that.
std::optional<model::SharedMemory> shared_memory(const std::filesystem::path& folder = "/dev/shm");

} // namespace ncclprobe::system
