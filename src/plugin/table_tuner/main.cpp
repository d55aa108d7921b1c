// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/loaded_nccl.h"
#include "plugin/table_tuner/table_tuner.h"
#include "tuning/table_file.h"

#include "base/atomic_file.h"
#include "base/printable.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <unistd.h>

// libncclprobe-tuner.so: NCCL's tuner plugin for any program
// (NCCL_TUNER_PLUGIN=.../libncclprobe-tuner.so). NCCLPROBE_TUNER_TABLE=PATH@SHA256 names the table.
// Ranks with different tables would hang, so a rank without exactly this table fails.
// NCCLPROBE_TUNER_HITS=FILE: where to write how often each row was used, when a communicator ends
// and when the process ends; %h is the host's name and %p the number of the process.
namespace ncclprobe::plugin {
namespace {

constexpr const char* k_table_variable = "NCCLPROBE_TUNER_TABLE";
constexpr const char* k_hits_variable = "NCCLPROBE_TUNER_HITS";

void say(tuner_abi::Logger log, const std::string& words) {
  const std::string text = "ncclprobe tuner: " + base::escape_unsafe(words);
  if (log != nullptr)
    log(tuner_abi::k_log_warn, tuner_abi::k_log_init | tuner_abi::k_log_tuning, __FILE__, __LINE__,
        "%s", text.c_str());
  std::fputs((text + "\n").c_str(), stderr); // one write, because several ranks print at once
}

// False if a launcher says that this process is not the first one. A warning is the same on all
// ranks, so one of them prints it.
bool speaks_for_all() {
  for (const char* variable :
       {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const char* rank = std::getenv(variable); rank != nullptr && *rank != '\0')
      return std::strcmp(rank, "0") == 0;
  return true;
}

std::string hits_path(std::string pattern) {
  std::array<char, 65> host{};
  if (gethostname(host.data(), host.size() - 1) != 0)
    std::strcpy(host.data(), "host");
  const std::pair<std::string_view, std::string> parts[] = {{"%h", host.data()},
                                                            {"%p", std::to_string(getpid())}};
  for (const auto& [mark, value] : parts)
    for (std::size_t at = 0; (at = pattern.find(mark, at)) != std::string::npos; at += value.size())
      pattern.replace(at, mark.size(), value);
  return pattern;
}

// What the process knows of its table. It is never destroyed, because NCCL's threads may outlive
// everything.
struct Process {
  std::mutex lock;
  std::string reference; // of the table
  std::unique_ptr<TableTuner> tuner;
  std::atomic<bool> warned{false};
  std::string hits; // file; empty: not asked for
};

Process& process() {
  static auto* const one = new Process;
  return *one;
}

void write_hits() {
  Process& all = process();
  std::lock_guard guard(all.lock);
  if (all.hits.empty() || !all.tuner)
    return;
  auto written = base::write_file_atomically(all.hits, tuning::to_text(all.tuner->hits()));
  if (written)
    return;
  say(nullptr, fmt::format("{}: {}", k_hits_variable, written.error().text()));
  all.hits.clear(); // one complaint is enough
}

// Also of a program that ends without closing its communicators.
struct AtExit {
  ~AtExit() { write_hits(); }
};

void warn_once(tuner_abi::Logger log, const std::string& words) {
  if (!process().warned.exchange(true) && speaks_for_all())
    say(log, words);
}

// Reads the table if no communicator of this process has.
Result<TableTuner*> tuner_of_process() {
  Process& all = process();
  const char* told = std::getenv(k_table_variable);
  if (told == nullptr || *told == '\0')
    return fail({Errc::not_found, fmt::format("{} is not set on this rank", k_table_variable),
                 "set it to PATH@SHA256 on all ranks, or unset NCCL_TUNER_PLUGIN on all"});
  std::lock_guard guard(all.lock);
  if (all.tuner) {
    if (all.reference != told)
      return fail(Errc::mismatch, "{} changed while the process ran", k_table_variable);
    return all.tuner.get();
  }
  auto reference = tuning::parse_table_reference(told);
  if (!reference)
    return with_context(reference.error(), k_table_variable);
  NCCLPROBE_TRY_ASSIGN(tuning::Table table, tuning::read_referenced_table(*reference));
  if (const char* hits = std::getenv(k_hits_variable); hits != nullptr && *hits != '\0')
    all.hits = hits_path(hits);
  all.reference = told;
  all.tuner = std::make_unique<TableTuner>(std::move(table), reference->sha256);
  static AtExit at_exit;
  return all.tuner.get();
}

struct TableCommunicator {
  TableTuner& tuner;
  std::optional<TableTuner::Communicator> decided; // absent: the table is not used
};

} // namespace

void* open_tuned_communicator(int, const tuning::Shape& shape, tuner_abi::Logger log) {
  auto tuner = tuner_of_process();
  if (!tuner) {
    say(log, tuner.error().text() +
                 "; this rank creates no communicator, because ranks that decide differently hang");
    return nullptr;
  }
  auto opened = std::make_unique<TableCommunicator>(TableCommunicator{**tuner, {}});
  if (const std::string why = (*tuner)->why_aside(nccl_version()); !why.empty()) {
    warn_once(log, "the table is not used: " + why);
    return opened.release();
  }
  opened->decided.emplace(TableTuner::Communicator{tuning::Lookup((*tuner)->table(), shape), log});
  return opened.release();
}

void decide(void* context, const TunedCall& call) noexcept {
  auto& communicator = *static_cast<TableCommunicator*>(context);
  if (communicator.decided && communicator.tuner.decide(*communicator.decided, call) &&
      !process().warned.load(std::memory_order_relaxed))
    warn_once(communicator.decided->log,
              "NCCL's estimates differ from those of the table's machine (" +
                  communicator.tuner.table().header.gpu +
                  "): rows with other estimates are not used");
}

void close_tuned_communicator(void* context) {
  if (context == nullptr)
    return;
  delete static_cast<TableCommunicator*>(context);
  write_hits();
}

} // namespace ncclprobe::plugin
