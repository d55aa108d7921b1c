// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/record.h"
#include "model/survey.h"

#include <vector>

namespace ncclprobe::worker {

// `named`, the backend's libraries, with their paths as the kernel has them mapped: links resolved.
// `problem` says where that is not what the trial asked for ("nccl" -> path), where the file is not
// mapped at all (it was replaced after it was loaded), and where a second file of the same name is.
std::vector<model::Library> loaded_libraries(std::vector<model::Library> named,
                                             const std::vector<model::Setting>& asked,
                                             const std::vector<model::MappedLibrary>& mapped);

// This program itself as a library, against the one that was asked for, if any.
model::Library this_program(const std::vector<model::Setting>& asked);

} // namespace ncclprobe::worker
