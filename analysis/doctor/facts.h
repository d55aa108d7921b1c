// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/survey.h"

#include <string>
#include <vector>

// What several checks read out of a survey.
namespace ncclprobe::analysis::doctor {

// "580.95.05" of the library entry "580.95.05 (CUDA 13.0)"; empty without a driver.
std::string driver_version(const model::Survey& survey);
// "13.0" of the same entry: the newest CUDA that the driver knows.
std::string driver_cuda_version(const model::Survey& survey);
// "GPU 3 (0000:3b:00.0)"
std::string gpu_label(const model::GpuHealth& gpu);

// Of groups of ranks that differ the smallest is the one to name; of equals, all. Call it for each
// group in turn.
void name_fewer(const std::vector<int>& group, std::vector<int>& named);

// "00000000:3B:00.0" and "0000:3b:00.0" are one GPU.
bool same_pci(const std::string& one, const std::string& other);

} // namespace ncclprobe::analysis::doctor
