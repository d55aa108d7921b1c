// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

// The tuner interfaces as NCCL 2.30.7 declares them (tuner_v3.h to tuner_v6.h), so that our code
// does not decide where a member lies.
namespace ncclprobe::test {

using ncclResult_t = int;
using ncclDebugLogger_t = void (*)(int level, unsigned long flags, const char* file, int line,
                                   const char* fmt, ...);
struct ncclNvlDomainInfo_t {
  int nNvlDomains, minRanksPerNvlDomain, maxRanksPerNvlDomain;
};
struct ncclTunerConstants_t {
  double baseLatencies[7][3];
  double hwLatencies[3][7][3];
  double bandwidths[5][4][3];
};

struct ncclTuner_v3_t {
  const char* name;
  ncclResult_t (*init)(size_t nRanks, size_t nNodes, ncclDebugLogger_t logFunction, void** context);
  ncclResult_t (*getCollInfo)(void* context, int collType, size_t nBytes, int numPipeOps,
                              float** collCostTable, int numAlgo, int numProto, int* nChannels);
  ncclResult_t (*destroy)(void* context);
};
struct ncclTuner_v4_t {
  const char* name;
  ncclResult_t (*init)(size_t nRanks, size_t nNodes, ncclDebugLogger_t logFunction, void** context);
  ncclResult_t (*getCollInfo)(void* context, int collType, size_t nBytes, int numPipeOps,
                              float** collCostTable, int numAlgo, int numProto, int regBuff,
                              int* nChannels);
  ncclResult_t (*destroy)(void* context);
};
struct ncclTuner_v5_t {
  const char* name;
  ncclResult_t (*init)(void** ctx, uint64_t commId, size_t nRanks, size_t nNodes,
                       ncclDebugLogger_t logFunction, ncclNvlDomainInfo_t* nvlDomainInfo,
                       ncclTunerConstants_t* constants);
  ncclResult_t (*getCollInfo)(void* context, int collType, size_t nBytes, int numPipeOps,
                              float** collCostTable, int numAlgo, int numProto, int regBuff,
                              int* nChannels);
  ncclResult_t (*finalize)(void* context);
};
struct ncclTuner_v6_t {
  const char* name;
  ncclResult_t (*init)(void** ctx, uint64_t commId, size_t nRanks, size_t nNodes,
                       ncclDebugLogger_t logFunction, ncclNvlDomainInfo_t* nvlDomainInfo,
                       ncclTunerConstants_t* constants);
  ncclResult_t (*getCollInfo)(void* context, int collType, size_t nBytes, int numPipeOps,
                              float** collCostTable, int numAlgo, int numProto, int regBuff,
                              int* nChannels);
  ncclResult_t (*finalize)(void* context);
  ncclResult_t (*getChunkSize)(void* context, int collType, size_t nBytes, int algo, int proto,
                               int nChannels, size_t* chunkSize);
};

inline constexpr int ncclFuncBroadcast = 0, ncclFuncAllGather = 2, ncclFuncAllReduce = 4;
inline constexpr int NCCL_ALGO_TREE = 0, NCCL_ALGO_RING = 1, NCCL_ALGO_NVLS = 4;
inline constexpr int NCCL_PROTO_LL = 0, NCCL_PROTO_LL128 = 1, NCCL_PROTO_SIMPLE = 2;

// NCCL's cost table for a call, and the number of channels. It offers Tree and Ring with all
// protocols, the cheaper the later; NVLS with Simple; nothing else.
struct Costs {
  float us[7][3];
  int channels = 0;
  Costs() {
    for (auto& row : us)
      for (float& one : row)
        one = -1.0F;
    float next = 60;
    for (int algorithm : {NCCL_ALGO_TREE, NCCL_ALGO_RING})
      for (float& one : us[algorithm])
        one = next -= 5; // Ring with Simple: 30
    us[NCCL_ALGO_NVLS][NCCL_PROTO_SIMPLE] = 40;
  }
  float** table() { return reinterpret_cast<float**>(us); }
  // What NCCL takes: the least cost that is not negative. {-1, -1}: none.
  std::array<int, 2> taken() const {
    std::array<int, 2> best{-1, -1};
    for (int a = 0; a < 7; ++a)
      for (int p = 0; p < 3; ++p)
        if (us[a][p] >= 0 && (best[0] < 0 || us[a][p] < us[best[0]][best[1]]))
          best = {a, p};
    return best;
  }
  bool operator==(const Costs& other) const {
    for (int a = 0; a < 7; ++a)
      for (int p = 0; p < 3; ++p)
        if (us[a][p] != other.us[a][p])
          return false;
    return channels == other.channels;
  }
};
using Taken = std::array<int, 2>;

} // namespace ncclprobe::test
