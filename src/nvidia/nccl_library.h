// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvidia/shared_library.h"

#include <nccl.h>

#include <string>

namespace ncclprobe::nvidia {

// NCCL's functions from the library file that the trial names. Optional ones are null if the
// library is too old; those newer than the oldest supported header (2.18) are declared here.
struct NcclLibrary {
  // Throws Errc::unsupported: missing, older than 2.10 (no average, no bf16), or without a required
  // function.
  explicit NcclLibrary(const backend::Options& options);

  SharedLibrary library;
  int version_code;    // 22809
  std::string version; // "2.28.9"

  decltype(&ncclGetErrorString) get_error_string = library.require("ncclGetErrorString", version);
  decltype(&ncclGetUniqueId) get_unique_id = library.require("ncclGetUniqueId", version);
  decltype(&ncclCommInitRank) comm_init_rank = library.require("ncclCommInitRank", version);
  decltype(&ncclCommDestroy) comm_destroy = library.require("ncclCommDestroy", version);
  decltype(&ncclCommAbort) comm_abort = library.require("ncclCommAbort", version);
  decltype(&ncclCommGetAsyncError) comm_get_async_error =
      library.require("ncclCommGetAsyncError", version);
  decltype(&ncclGroupStart) group_start = library.require("ncclGroupStart", version);
  decltype(&ncclGroupEnd) group_end = library.require("ncclGroupEnd", version);
  decltype(&ncclAllReduce) all_reduce = library.require("ncclAllReduce", version);
  decltype(&ncclAllGather) all_gather = library.require("ncclAllGather", version);
  decltype(&ncclReduceScatter) reduce_scatter = library.require("ncclReduceScatter", version);
  decltype(&ncclBroadcast) broadcast = library.require("ncclBroadcast", version);
  decltype(&ncclReduce) reduce = library.require("ncclReduce", version);
  decltype(&ncclSend) send = library.require("ncclSend", version);
  decltype(&ncclRecv) recv = library.require("ncclRecv", version);

  // Optional. Premultiplied sums need 2.11, splitting 2.18, all-to-all, gather and scatter 2.28.
  using Unrooted = ncclResult_t (*)(const void* send, void* receive, std::size_t count,
                                    ncclDataType_t, ncclComm_t, cudaStream_t);
  using Rooted = ncclResult_t (*)(const void* send, void* receive, std::size_t count,
                                  ncclDataType_t, int root, ncclComm_t, cudaStream_t);
  const char* (*get_last_error)(ncclComm_t) = library.optional("ncclGetLastError");
  decltype(&ncclRedOpCreatePreMulSum) red_op_create_premul_sum =
      library.optional("ncclRedOpCreatePreMulSum");
  decltype(&ncclRedOpDestroy) red_op_destroy = library.optional("ncclRedOpDestroy");
  decltype(&ncclCommSplit) comm_split = library.optional("ncclCommSplit");
  Unrooted all_to_all = library.optional("ncclAlltoAll");
  Rooted gather = library.optional("ncclGather");
  Rooted scatter = library.optional("ncclScatter");
  // From 2.19: memory that communicators can use without copying it first.
  ncclResult_t (*mem_alloc)(void** memory, std::size_t bytes) = library.optional("ncclMemAlloc");
  ncclResult_t (*mem_free)(void* memory) = library.optional("ncclMemFree");
  ncclResult_t (*comm_register)(ncclComm_t, void* memory, std::size_t bytes,
                                void** handle) = library.optional("ncclCommRegister");
  ncclResult_t (*comm_deregister)(ncclComm_t,
                                  void* handle) = library.optional("ncclCommDeregister");
  // From 2.22: ends a group without launching it, and estimates its duration.
  struct SimulationInfo { // ncclSimInfo_t
    std::size_t size = sizeof(SimulationInfo);
    unsigned magic = 0x74685283;
    unsigned version = 0; // of the library
    float estimated_us = 0;
  };
  ncclResult_t (*group_simulate_end)(SimulationInfo* info) =
      library.optional("ncclGroupSimulateEnd");
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
