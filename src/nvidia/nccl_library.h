// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvidia/shared_library.h"

#include <nccl.h>

#include <memory>
#include <string>

namespace ncclprobe::nvidia {

// NCCL's functions from the library file that the trial names. Optional ones are null if the
// library is too old; those newer than the oldest supported header (2.18) are declared here.
struct NcclLibrary {
  // Throws Errc::unsupported: missing, older than 2.10 (no average, no bf16), or without a required
  // function.
  explicit NcclLibrary(const backend::Options& options);

  SharedLibrary library;
  std::string version;  // "2.28.9"
  int version_code = 0; // 22809

  decltype(&ncclGetVersion) get_version = nullptr;
  decltype(&ncclGetErrorString) get_error_string = nullptr;
  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclCommInitRank) comm_init_rank = nullptr;
  decltype(&ncclCommDestroy) comm_destroy = nullptr;
  decltype(&ncclCommAbort) comm_abort = nullptr;
  decltype(&ncclCommGetAsyncError) comm_get_async_error = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclAllGather) all_gather = nullptr;
  decltype(&ncclReduceScatter) reduce_scatter = nullptr;
  decltype(&ncclBroadcast) broadcast = nullptr;
  decltype(&ncclReduce) reduce = nullptr;
  decltype(&ncclSend) send = nullptr;
  decltype(&ncclRecv) recv = nullptr;

  // Optional. Premultiplied sums need 2.11, splitting 2.18, all-to-all, gather and scatter 2.28.
  using Unrooted = ncclResult_t (*)(const void* send, void* receive, std::size_t count,
                                    ncclDataType_t, ncclComm_t, cudaStream_t);
  using Rooted = ncclResult_t (*)(const void* send, void* receive, std::size_t count,
                                  ncclDataType_t, int root, ncclComm_t, cudaStream_t);
  const char* (*get_last_error)(ncclComm_t) = nullptr;
  decltype(&ncclRedOpCreatePreMulSum) red_op_create_premul_sum = nullptr;
  decltype(&ncclRedOpDestroy) red_op_destroy = nullptr;
  decltype(&ncclCommSplit) comm_split = nullptr;
  Unrooted all_to_all = nullptr;
  Rooted gather = nullptr;
  Rooted scatter = nullptr;
  // From 2.19: memory that communicators can use without copying it first.
  ncclResult_t (*mem_alloc)(void** memory, std::size_t bytes) = nullptr;
  ncclResult_t (*mem_free)(void* memory) = nullptr;
  ncclResult_t (*comm_register)(ncclComm_t, void* memory, std::size_t bytes,
                                void** handle) = nullptr;
  ncclResult_t (*comm_deregister)(ncclComm_t, void* handle) = nullptr;
  // From 2.22: ends a group without launching it, and estimates its duration.
  struct SimulationInfo { // ncclSimInfo_t
    std::size_t size = sizeof(SimulationInfo);
    unsigned magic = 0x74685283;
    unsigned version = 0; // of the library
    float estimated_us = 0;
  };
  ncclResult_t (*group_simulate_end)(SimulationInfo* info) = nullptr;
  bool registers_memory() const {
    return mem_alloc != nullptr && mem_free != nullptr && comm_register != nullptr &&
           comm_deregister != nullptr;
  }
};

// Throws Errc::failed with the call's text, NCCL's text for the code, its last error, and the
// source location.
[[noreturn]] void raise_nccl(const NcclLibrary& nccl, ncclResult_t code, const char* call,
                             const char* file, int line);

} // namespace ncclprobe::nvidia

// NCCLPROBE_NCCL_CALL(nccl, all_reduce(...)) calls nccl.all_reduce and throws what it reports.
#define NCCLPROBE_NCCL_CALL(nccl, call)                                                            \
  do {                                                                                             \
    if (ncclResult_t ncclprobe_code = (nccl).call; ncclprobe_code != ncclSuccess)                  \
      ::ncclprobe::nvidia::raise_nccl((nccl), ncclprobe_code, #call, __FILE__, __LINE__);          \
  } while (false)
