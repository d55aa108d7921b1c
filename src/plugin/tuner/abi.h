// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// NCCL's tuner plugin interface, transcribed by hand: versions 3 (NCCL 2.22, 2.23), 4 (2.24 to
// 2.27), 5 (2.28, 2.29) and 6 (2.30, 2.31). Compared with the headers of NCCL 2.30.7.
namespace ncclprobe::plugin::tuner_abi {

using Result = int; // ncclResult_t
inline constexpr Result k_success = 0;
inline constexpr Result k_internal_error = 3;
inline constexpr Result k_invalid_usage = 5;

// Levels and subsystems of NCCL's log.
inline constexpr int k_log_warn = 2;
inline constexpr int k_log_info = 3;
inline constexpr unsigned long k_log_init = 0x1;
inline constexpr unsigned long k_log_tuning = 0x40;
using Logger = void (*)(int level, unsigned long flags, const char* file, int line,
                        const char* format, ...);

// An entry of the cost table that NCCL cannot use.
inline constexpr float k_impossible = -1.0F;

struct NvlinkDomains {
  int count;
  int least_ranks;
  int most_ranks;
};
struct Constants; // not read here

// `collective`: ncclFunc_t. `costs`: declared float** by NCCL, but the rows lie one after another:
// float[algorithms][protocols], in us. `channels`: 0 on entry, which keeps NCCL's number.
using GetCollInfoV3 = Result (*)(void* context, int collective, std::size_t bytes, int operations,
                                 float** costs, int algorithms, int protocols, int* channels);
using GetCollInfoV4 = Result (*)(void* context, int collective, std::size_t bytes, int operations,
                                 float** costs, int algorithms, int protocols, int registered,
                                 int* channels);
using InitV3 = Result (*)(std::size_t ranks, std::size_t nodes, Logger log, void** context);
using InitV5 = Result (*)(void** context, std::uint64_t communicator, std::size_t ranks,
                          std::size_t nodes, Logger log, NvlinkDomains* domains,
                          Constants* constants);

template <typename Init, typename GetCollInfo>
struct Tuner {
  const char* name;
  Init init;
  GetCollInfo get_coll_info;
  Result (*finalize)(void* context); // called destroy until version 4
};
using TunerV3 = Tuner<InitV3, GetCollInfoV3>;
using TunerV4 = Tuner<InitV3, GetCollInfoV4>;
using TunerV5 = Tuner<InitV5, GetCollInfoV4>;
struct TunerV6 {
  const char* name;
  InitV5 init;
  GetCollInfoV4 get_coll_info;
  Result (*finalize)(void* context);
  Result (*get_chunk_size)(void* context, int collective, std::size_t bytes, int algorithm,
                           int protocol, int channels, std::size_t* chunk_bytes); // may be null
};

} // namespace ncclprobe::plugin::tuner_abi

// The symbols that NCCL looks for, the newest that it knows first.
extern "C" {
extern ncclprobe::plugin::tuner_abi::TunerV3 ncclTunerPlugin_v3;
extern ncclprobe::plugin::tuner_abi::TunerV4 ncclTunerPlugin_v4;
extern ncclprobe::plugin::tuner_abi::TunerV5 ncclTunerPlugin_v5;
extern ncclprobe::plugin::tuner_abi::TunerV6 ncclTunerPlugin_v6;
}
