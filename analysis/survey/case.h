// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/record.h"
#include "model/survey.h"

#include <optional>
#include <string>
#include <vector>

// Everything that the verdicts rest on: what --format json stores, and --offline reads again.
namespace ncclprobe::analysis::doctor {

// A real trial that was run at the end.
struct SmokeTestCell {
  model::CellLabel label;
  model::Outcome outcome;
  std::uint64_t elements = 0; // that were checked
  std::uint64_t wrong = 0;
  std::string first_wrong;
  std::vector<model::Condition> conditions; // before, during (long cells only) and after
  std::optional<double> busbw_gb_per_s;     // of a collective that was launched often enough
  bool operator==(const SmokeTestCell&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(SmokeTestCell, label, outcome, elements, wrong, first_wrong, conditions,
                         busbw_gb_per_s)

// What NCCL's log says of the network that it chose.
struct ChosenNetwork {
  std::vector<int> ranks;
  std::string name;                    // "Socket", "IB", a plugin's
  std::vector<std::string> interfaces; // "eth0", "mlx5_0:1/IB"
  std::vector<std::string> lines;      // that say so
  bool operator==(const ChosenNetwork&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(ChosenNetwork, ranks, name, interfaces, lines)

// How NCCL sends from one rank's GPU to another's, as its log has it.
struct ChosenTransport {
  int from_rank = 0;
  int to_rank = 0;
  std::string from_gpu; // "0": as nvidia-smi numbers it, since NCCL 2.19
  std::string to_gpu;
  std::string way; // "P2P/CUMEM", "SHM/direct/direct", "NET/IB/0"
  bool operator==(const ChosenTransport&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(ChosenTransport, from_rank, to_rank, from_gpu, to_gpu, way)

// Which algorithm and protocol NCCL took for a size, as its log has it.
struct ChosenAlgorithm {
  std::string function; // "AllReduce"
  std::uint64_t bytes = 0;
  std::string algorithm; // "RING"
  std::string protocol;  // empty: not told
  int channels = 0;      // 0: not told
  bool operator==(const ChosenAlgorithm&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(ChosenAlgorithm, function, bytes, algorithm, protocol, channels)

struct CommunicatorMemory {
  int rank = 0;
  std::uint64_t bytes = 0; // of the GPU, that connecting took
  bool operator==(const CommunicatorMemory&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(CommunicatorMemory, rank, bytes)

struct SmokeTest {
  std::string name; // "2 ranks", "all ranks", "sustained load"
  std::string backend;
  int ranks = 0;
  model::Outcome outcome;
  std::vector<SmokeTestCell> cells;
  std::vector<std::string> last_words; // of its workers, when it failed
  std::vector<ChosenNetwork> networks; // none: NCCL's log was not ours to read
  std::vector<CommunicatorMemory> communicators;
  std::vector<ChosenTransport> ways; // likewise
  std::vector<ChosenAlgorithm> algorithms;
  bool operator==(const SmokeTest&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(SmokeTest, name, backend, ranks, outcome, cells, last_words, networks,
                         communicators, ways, algorithms)

// The all-reduce that is measured: large enough for what is published of bandwidths.
inline constexpr std::uint64_t k_measured_bytes = std::uint64_t{512} << 20;

// The smoke test whose cells are copies from GPU to GPU.
inline constexpr const char* k_copies = "copies between GPUs";
// The one of --deep that goes on for long.
inline constexpr const char* k_load = "sustained load";

// Of a trial that was not prepared: of another one, what connecting took is not known.
SmokeTest smoke_test_of(const model::TrialRecord& record, std::string name);

// Whether one supervisor can connect to another, over the interface that NCCL would choose there.
struct Connection {
  int from_rank = 0;
  int to_rank = 0;
  std::string address;
  std::string problem; // empty: it can
  bool operator==(const Connection&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(Connection, from_rank, to_rank, address, problem)

// The GPU code of a library that is really mapped.
struct LibraryCode {
  std::string path;
  std::vector<std::string> cubins; // "sm_90"
  std::vector<std::string> ptx;    // "compute_90"
  std::string cuda;                // "13.0": that it was built with; empty: it does not tell
  bool operator==(const LibraryCode&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(LibraryCode, path, cubins, ptx, cuda)

// What a Python interpreter says of its PyTorch.
struct PythonTorch {
  std::string interpreter; // as it was asked for
  std::string problem;     // why it tells nothing; empty: it did
  std::string python;      // version
  std::string torch;       // "2.7.0+cu128"
  std::string path;
  std::string cuda;                       // that it was built with; empty: without
  std::vector<std::string> architectures; // "sm_90", "compute_90"; empty: it does not tell
  std::string nccl;                       // "2.26.2"
  bool operator==(const PythonTorch&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(PythonTorch, interpreter, problem, python, torch, path, cuda,
                         architectures, nccl)

struct Case {
  std::string ncclprobe; // version
  std::string backend;   // that was chosen, and why
  std::string backend_reason;
  std::string launcher_problem;       // its idea of the job is not MPI's
  std::vector<model::Survey> surveys; // by rank
  std::vector<SmokeTest> rehearsals;  // in the order they ran
  std::vector<LibraryCode> code;      // of the leader's process
  std::vector<PythonTorch> torch;     // that was asked for, of the leader's host
  std::string not_rehearsed;          // why there are none
  bool deep = false;                  // what follows was looked at
  std::vector<Connection> connections;
  std::vector<model::Survey> under_load; // health alone, of each host
  bool operator==(const Case&) const = default;

  bool looked_at() const; // by the worker of every rank, GPUs or not
  const model::HostSurvey* host_of(const model::Survey& survey) const; // nullptr: not surveyed
  int ranks() const;
};
NCCLPROBE_PARTLY_LENIENT_FIELDS(Case, (surveys),
                                (ncclprobe, backend, backend_reason, launcher_problem, rehearsals,
                                 code, torch, not_rehearsed, deep, connections, under_load))

// The JSON that `--format json` stores under "case". Errors: protocol, with what is wrong.
std::string write_case(const Case& one);
base::Result<Case> read_case(std::string_view text);

} // namespace ncclprobe::analysis::doctor
