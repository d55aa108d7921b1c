// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/rows.h"
#include "trace/spool_writer.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

// Simulated traces of data-parallel training: steps of 400 kernels on three streams that repeat
// with 3% of jitter, with gradient buckets reduced during the backward pass. Times are multiples of
// 32 ns, as on GPUs.
namespace ncclprobe::support {

// The kernels of one rank by their begin; names are numbers of texts 1 to 61 (61: the collective).
std::vector<trace::KernelRow> ddp_kernels(std::uint64_t count, int rank = 0);
std::string ddp_kernel_name(std::uint32_t text);

// The same as a worker would spool them: with texts, in the order of their ends, in blocks of
// 4,096, and with their operation, communicator and NCCL rows.
void write_ddp_spool(const std::filesystem::path& path, int rank, std::uint64_t kernels,
                     int ranks = 8);

} // namespace ncclprobe::support
