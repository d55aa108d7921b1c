// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// What the ranks of a job called, from any source: a capture of NCCL's profiler plugin, or dumps of
// PyTorch's flight recorder.
namespace ncclprobe::analysis::hang {

enum class CallKind { collective, send, receive };

enum class CallState {
  calling, // NCCL has not returned
  queued,  // NCCL has returned; the GPU has not begun
  running, // on the GPU
  ended,
  unknown, // the source does not say when operations begin and end
};

// The newest calls of a rank are kept: those that can be part of a hang.
inline constexpr std::size_t k_most_calls = 4096;

struct Call {
  std::size_t group = 0; // index in Job::groups
  CallKind kind = CallKind::collective;
  CallState state = CallState::unknown;
  // Equal on all ranks that take part, if all make the same calls. Of a collective: counted over
  // all collectives of its group. Of a message: over those from one rank to another.
  std::uint64_t position = 0;
  std::uint64_t number = 0;      // as the source numbers it
  std::string function;          // "all_reduce", "send"
  std::string data_type;         // "float32"
  std::uint64_t count = 0;       // elements
  bool count_may_differ = false; // between ranks, as in PyTorch's all_to_all
  std::uint64_t bytes = 0;       // 0: unknown
  int root = -1;
  int peer = -1; // of a message: rank in the group
  std::string algorithm, protocol;
  std::int64_t at_ns = 0;           // when it was called, by the clock of the rank's host
  std::int64_t ended_ns = 0;        // 0: unknown
  std::vector<std::string> where{}; // the user's stack, innermost first: "train.py:83 (step)"
};

struct Group {
  std::string kind;       // "communicator", "process group"
  std::string name;       // never empty
  std::string key;        // the source's own name of it
  std::vector<int> ranks; // global, by the rank in the group; -1: unknown
};

enum class ProcessState { alive, gone, unknown };

struct RankCalls {
  int rank = 0; // global
  std::string host;
  std::int64_t process = 0; // its number in its container; 0: unknown
  ProcessState state = ProcessState::unknown;
  std::int64_t here = 0; // the number by which this host knows it, if it is alive; 0: unknown
  std::int64_t known_until_ns = 0; // by the clock of its host: until then nothing else happened
  std::vector<Call> calls;         // in their order
};

struct Job {
  std::vector<Group> groups;
  std::vector<RankCalls> ranks; // ascending
  std::vector<std::string> remarks;
};

// NCCL's and PyTorch's names in one form: "AllReduce" and "nccl:all_reduce" become "all_reduce",
// "ncclFloat32" and "Float" become "float32".
std::string function_name(std::string_view of_source);
std::string type_name(std::string_view of_source);
// Bytes of an element; 0: unknown. `type`: as type_name() writes it.
std::uint64_t type_bytes(std::string_view type);

} // namespace ncclprobe::analysis::hang
