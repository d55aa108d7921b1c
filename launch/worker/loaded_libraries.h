// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/record.h"
#include "model/survey.h"

#include <vector>

namespace ncclprobe::worker {

// `named`, the backend's libraries, with the paths that the kernel has mapped (links resolved).
// `problem` reports a file other than the trial requested ("nccl" -> path), a file that is not
// mapped (it was replaced after loading), and a second file of the same name.
std::vector<model::Library> loaded_libraries(std::vector<model::Library> named,
                                             const std::vector<model::Setting>& asked,
                                             const std::vector<model::MappedLibrary>& mapped);

// This program itself as a library, compared with the requested one, if any.
model::Library this_program(const std::vector<model::Setting>& asked);

} // namespace ncclprobe::worker
