// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/survey.h"

#include <filesystem>

namespace ncclprobe::system {

// A shared memory folder: its file system, and the segments that NCCL, CUDA, MPI or this program
// created there. Nothing if the folder does not exist. Briefly creates a file there, without a name
// if the file system supports that.
std::optional<model::SharedMemory> shared_memory(const std::filesystem::path& folder = "/dev/shm");

} // namespace ncclprobe::system
