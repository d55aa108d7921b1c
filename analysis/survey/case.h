// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/record.h"
#include "model/survey.h"

#include <optional>
#include <string>
#include <vector>

// All data behind the verdicts: --format json stores it, and --offline reads it again.
namespace ncclprobe::analysis::doctor {

// A real trial that ran at the end.
struct SmokeTestCell {
  model::CellLabel label;
  model::Outcome outcome;
  std::uint64_t elements = 0; // values that were checked
  std::uint64_t wrong = 0;
  std::string first_wrong;
  std::vector<model::Condition> conditions; // before, during (long cells only) and after
  std::optional<double> busbw_gb_per_s;     // of a collective that was launched often enough
  bool operator==(const SmokeTestCell&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(SmokeTestCell, label, outcome, elements, wrong, first_wrong, conditions,
                         busbw_gb_per_s)

// The network that NCCL chose, according to its log.
struct ChosenNetwork {
  std::vector<int> ranks;
  std::string name;                    // "Socket", "IB", a plugin's
  std::vector<std::string> interfaces; // "eth0", "mlx5_0:1/IB"
  std::vector<std::string> lines;      // log lines as evidence
  bool operator==(const ChosenNetwork&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(ChosenNetwork, ranks, name, interfaces, lines)

// The transport from one rank's GPU to another's, according to NCCL's log.
struct ChosenTransport {
  int from_rank = 0;
  int to_rank = 0;
  std::string from_gpu; // "0": nvidia-smi's number, since NCCL 2.19
  std::string to_gpu;
  std::string transport; // "P2P/CUMEM", "SHM/direct/direct", "NET/IB/0"
  bool operator==(const ChosenTransport&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(ChosenTransport, from_rank, to_rank, from_gpu, to_gpu, transport)

// The algorithm and protocol for a size, according to NCCL's log.
struct ChosenAlgorithm {
  std::string function; // "AllReduce"
  std::uint64_t bytes = 0;
  std::string algorithm; // "RING"
  std::string protocol;  // empty: unknown
  int channels = 0;      // 0: unknown
  bool operator==(const ChosenAlgorithm&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(ChosenAlgorithm, function, bytes, algorithm, protocol, channels)

struct CommunicatorMemory {
  int rank = 0;
  std::uint64_t bytes = 0; // GPU memory that connecting took
  bool operator==(const CommunicatorMemory&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(CommunicatorMemory, rank, bytes)

struct SmokeTest {
  std::string name; // "2 ranks", "all ranks", "sustained load"
  std::string backend;
  int ranks = 0;
  model::Outcome outcome;
  std::vector<SmokeTestCell> cells;
  std::vector<std::string> last_words; // last words of the workers, if the trial failed
  std::vector<ChosenNetwork> networks; // empty: NCCL's log was not available
  std::vector<CommunicatorMemory> communicators;
  std::vector<ChosenTransport> transports; // empty: NCCL's log was not available
  std::vector<ChosenAlgorithm> algorithms;
  bool operator==(const SmokeTest&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(SmokeTest, name, backend, ranks, outcome, cells, last_words, networks,
                         communicators, transports, algorithms)

// The all-reduce that is measured. It is large enough to compare with published bandwidths.
inline constexpr std::uint64_t k_measured_bytes = std::uint64_t{512} << 20;

// The trial whose cells are GPU-to-GPU copies.
inline constexpr const char* k_copies = "copies between GPUs";
// The long one of --deep.
inline constexpr const char* k_load = "sustained load";

// `record` must come from a trial without preparation; otherwise the memory that connecting took is
// unknown.
SmokeTest smoke_test_of(const model::TrialRecord& record, std::string name);

// Whether one supervisor can connect to another over the interface that NCCL would choose.
struct Connection {
  int from_rank = 0;
  int to_rank = 0;
  std::string address;
  std::string problem; // empty: it can
  bool operator==(const Connection&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(Connection, from_rank, to_rank, address, problem)

// The GPU code of a library that a process has loaded.
struct LibraryCode {
  std::string path;
  std::vector<std::string> cubins; // "sm_90"
  std::vector<std::string> ptx;    // "compute_90"
  std::string cuda;                // "13.0": the CUDA version of the build; empty: unknown
  bool operator==(const LibraryCode&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(LibraryCode, path, cubins, ptx, cuda)

// A Python interpreter's PyTorch.
struct PythonTorch {
  std::string interpreter; // as the user named it
  std::string problem;     // why nothing is known; empty: no problem
  std::string python;      // version
  std::string torch;       // "2.7.0+cu128"
  std::string path;
  std::string cuda;                       // CUDA version of the build; empty: built without CUDA
  std::vector<std::string> architectures; // "sm_90", "compute_90"; empty: unknown
  std::string nccl;                       // "2.26.2"
  bool operator==(const PythonTorch&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(PythonTorch, interpreter, problem, python, torch, path, cuda,
                         architectures, nccl)

struct Case {
  std::string ncclprobe; // version
  std::string backend;   // the chosen backend, and why
  std::string backend_reason;
  std::string launcher_problem;       // its view of the job differs from MPI's
  std::vector<model::Survey> surveys; // by rank
  std::vector<SmokeTest> smoke_tests; // in the order they ran
  std::vector<LibraryCode> code;      // of the leader's process
  std::vector<PythonTorch> torch;     // --python, on the leader's host
  std::string not_tested;             // why there are none
  bool deep = false;                  // whether the following was examined
  std::vector<Connection> connections;
  std::vector<model::Survey> under_load; // each host's health alone
  bool operator==(const Case&) const = default;

  bool looked_at() const; // by the worker of every rank, with or without GPUs
  const model::HostSurvey* host_of(const model::Survey& survey) const; // nullptr: not surveyed
  int ranks() const;
};
NCCLPROBE_PARTLY_LENIENT_FIELDS(Case, (surveys),
                                (ncclprobe, backend, backend_reason, launcher_problem, smoke_tests,
                                 code, torch, not_tested, deep, connections, under_load))

// The JSON that `--format json` stores under "case". Errors: protocol, with what is wrong.
std::string write_case(const Case& one);
Result<Case> read_case(std::string_view text);

} // namespace ncclprobe::analysis::doctor
