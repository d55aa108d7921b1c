// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "model/run.h"
#include "model/schedule.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What the readers of other programs' output return. Each reader is a function from text to these
// values; imported_run.h makes a run of them.
namespace ncclprobe::analysis::imports {

// A rank as the program lists it. What it does not tell is empty.
struct ImportedRank {
  int rank = 0;
  std::string hostname;
  std::int32_t pid = 0;
  int device = 0; // CUDA ordinal on its host
  std::string gpu;
  std::string pci_bus_id;
  int group = 0; // nccl-tests: of split communicators
};

// A kind of measurement and all that was measured of it in one process.
struct ImportedCell {
  model::CellLabel label;
  model::Timing timing;
  model::CellRecord record;
  std::optional<model::ChaseOp> chase; // of a latency: the hops of a launch
};

// One launch of the program: it becomes one trial.
struct ImportedProcess {
  std::string version;                     // of the program; empty: it does not say
  std::string started;                     // as the program writes it: local time, without a zone
  std::vector<ImportedRank> ranks;         // by rank
  std::vector<model::Library> libraries;   // that the program names
  std::vector<model::Setting> environment; // that affects the result
  std::vector<ImportedCell> cells;         // in the order of the text
  model::Outcome outcome;                  // of the program itself
  std::string times;                       // what a time is, one sentence
  std::vector<std::string> remarks;        // what was left out or assumed, a sentence each
};
using ImportedProcesses = std::vector<ImportedProcess>;

// What the user says about a file that does not say it itself.
struct ImportHints {
  std::optional<model::Collective> collective; // nccl-tests before 2.17 does not name it
  std::optional<int> ranks;                    // if a log lacks the list of ranks
  std::uint64_t buffer_bytes = 512 << 20;      // of nvbandwidth, whose JSON lacks it: its default
  std::string communicator;                    // of NCCL Inspector: id or name; empty: the busiest
};

// The cell of this label, which is added if it is new.
class CellList {
public:
  explicit CellList(std::vector<ImportedCell>& cells) : cells_(cells) {}
  ImportedCell& at(const model::CellLabel& label);

private:
  std::vector<ImportedCell>& cells_;
  std::map<model::CellLabel, std::size_t> index_;
};

inline const char* were(std::size_t count) {
  return count == 1 ? "was" : "were";
}

// Remarks about parts of a file that were left out: the first few, then only their number.
class Omissions {
public:
  void add(std::size_t line, std::string_view why);
  void tell(std::vector<std::string>& remarks) const;

private:
  std::vector<std::string> first_;
  std::size_t count_ = 0;
};

// A time per operation as a sample. Errors: none; a time that no sample can hold gives nothing.
std::optional<model::Sample> sample_of(int rank, int batch, int iterations, double time_ns);

} // namespace ncclprobe::analysis::imports
