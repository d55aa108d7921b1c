// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "knowledge/compute_capability.h"
#include "knowledge/version_number.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

// The GPUs for which a program or library has code, read from the file.
//
// nvcc puts machine code (cubins) and PTX into fat binaries: containers with the magic number
// 0xBA55ED50, a version, the size of their header and of their content. They contain one entry for
// each piece of code, whose header gives kind, target and flags. Code may be compressed; the
// headers never are. Fat binaries are in the ELF sections .nv_fatbin and, before device linking,
// __nv_relfatbin; some libraries (cuFFT) keep more of them in their data. The layout is
// undocumented; it was compared with code that nvcc 13.0 compiled for known targets.
namespace ncclprobe::analysis {

// Further notes would not help.
inline constexpr std::size_t k_most_problems = 20;

struct CodeCount {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0; // in the file
};

struct PtxCode {
  CodeCount count;
  knowledge::VersionNumber newest_isa; // PTX version: a driver must support it to compile the code
};

struct DeviceCode {
  std::string format;           // "ELF shared object", "archive of 12 ELF files", "fat binary"
  std::uint64_t containers = 0; // fat binaries
  std::map<knowledge::CodeTarget, CodeCount> cubins;
  std::map<knowledge::CodeTarget, PtxCode> ptx;
  std::map<knowledge::CodeTarget, CodeCount> link_time; // to be linked when the program runs (LTO)
  std::string nccl;      // version of the NCCL that the file is or contains; empty: none
  std::string nccl_cuda; // CUDA version of its build
  std::vector<std::string> problems; // parts that could not be read

  bool empty() const { return cubins.empty() && ptx.empty() && link_time.empty(); }
  std::vector<knowledge::CodeTarget> cubin_targets() const;
  std::vector<knowledge::CodeTarget> ptx_targets() const;
};

// For an ELF file (64 bits, little endian), an archive of such files, or a bare fat binary. Handles
// any bytes: an invalid part is noted and skipped. Errors: invalid_argument for other files.
Result<DeviceCode> read_device_code(std::string_view file);

} // namespace ncclprobe::analysis
