// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/evidence.h"

#include "plugin/profiler/recorder.h"
#include "system/nccl_files.h"

#include "base/fd.h"
#include "base/text_layout.h"

#include <algorithm>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace ncclprobe::worker {
namespace {

bool open_log() {
  base::Fd file(memfd_create("nccl-log", MFD_CLOEXEC));
  return file.get() >= 0 && dup3(file.get(), model::k_companion_log_fd, O_CLOEXEC) >= 0;
}

std::string read_log() {
  std::string text;
  char block[64 * 1024];
  for (;;) {
    ssize_t got =
        pread(model::k_companion_log_fd, block, sizeof block, static_cast<off_t>(text.size()));
    if (got <= 0)
      return text;
    text.append(block, static_cast<std::size_t>(got));
  }
}

model::Choice to_choice(const plugin::Record& record) {
  return {record.cell,
          std::string(record.function.text()),
          std::string(record.data_type.text()),
          record.count,
          std::string(record.algorithm.text()),
          std::string(record.protocol.text()),
          record.channels,
          record.peer};
}

} // namespace

std::string bounded_log(const std::string& log, std::size_t most_bytes) {
  if (log.size() <= most_bytes)
    return log;
  std::size_t head = log.rfind('\n', most_bytes * 3 / 4);
  std::size_t tail = log.find('\n', log.size() - most_bytes / 4);
  head = head == std::string::npos ? most_bytes * 3 / 4 : head + 1;
  tail = tail == std::string::npos ? log.size() - most_bytes / 4 : tail + 1;
  return fmt::format("{}ncclprobe: {} bytes of the log are left out here\n{}", log.substr(0, head),
                     tail - head, log.substr(tail));
}

EvidenceCollector::EvidenceCollector(const model::TrialSpec& spec,
                                     std::map<std::string, std::string> environment)
    : active_(spec.purpose == model::Purpose::companion), of_nccl_(spec.backend == "nvidia"),
      environment_(std::move(environment)) {
  if (!active_ || !of_nccl_)
    return;
  plugin::start_recording();
  auto file = environment_.find("NCCL_DEBUG_FILE");
  if (file != environment_.end() && file->second == model::k_companion_log_path)
    has_log_ = open_log();
}

void EvidenceCollector::enter_cell(int cell) {
  if (active_)
    plugin::enter_cell(cell);
  cell_ = cell;
}

void EvidenceCollector::leave_cell(std::optional<double> estimate_us) {
  if (estimate_us)
    estimates_ += fmt::format("ncclprobe: NCCL expects {} us of cell {}\n", *estimate_us, cell_);
}

// The names that NCCL's files set outside the environment, without their values.
std::string EvidenceCollector::configuration_files() const {
  std::string lines;
  for (const model::NcclFile& file : system::nccl_files(environment_)) {
    std::vector<std::string> names;
    for (const model::Setting& one : file.settings)
      names.push_back(one.name);
    if (!names.empty())
      lines += fmt::format("ncclprobe: configuration file {} sets {}\n", file.path,
                           base::join(names, ", "));
  }
  return lines;
}

std::string EvidenceCollector::log() const {
  if (has_log_)
    return bounded_log(read_log());
  return of_nccl_ ? "ncclprobe: NCCL has no log: NCCL_DEBUG_FILE is not ours, or its file "
                    "could not be made\n"
                  : "";
}

std::string EvidenceCollector::profiler() const {
  if (!of_nccl_)
    return "this backend has no profiler interface";
  int version = plugin::interface_version();
  if (version == 0)
    return "NCCL did not load the profiler plugin (it does from 2.27 on, with "
           "NCCL_PROFILER_PLUGIN=STATIC_PLUGIN)";
  std::string text = fmt::format("v{}", version);
  if (std::uint64_t lost = plugin::not_recorded())
    text += fmt::format(", {} calls were too many to record", lost);
  return text;
}

std::vector<model::Evidence>
EvidenceCollector::collect(const std::vector<int>& ranks, int world_size,
                           const std::vector<std::string>& backend_words) const {
  std::vector<model::Evidence> all;
  if (!active_)
    return all;
  std::string text = of_nccl_ ? configuration_files() : "";
  for (const std::string& line : backend_words)
    text += line + "\n";
  text += estimates_ + log();
  for (int rank : ranks)
    all.push_back({rank, text, profiler(), {}});
  for (const plugin::Record& record : plugin::recorded()) {
    // A rank in a smaller communicator does not identify the global rank: if this process has
    // several ranks, its calls count for the first.
    auto owner = std::ranges::find_if(all, [&](const model::Evidence& one) {
      return record.communicator_size == world_size && record.rank == one.rank;
    });
    model::Evidence& evidence = owner == all.end() ? all.front() : *owner;
    model::Choice choice = to_choice(record);
    if (std::ranges::find(evidence.choices, choice) == evidence.choices.end())
      evidence.choices.push_back(std::move(choice));
  }
  return all;
}

} // namespace ncclprobe::worker
