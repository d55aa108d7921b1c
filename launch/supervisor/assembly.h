// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/supervisor/layout.h"
#include "model/inventory.h"
#include "model/run.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::launch {

// What each supervisor reports about itself before anything runs. All supervisors see all reports
// and come to the same conclusions.
struct SupervisorReport {
  std::string hostname;
  std::string boot_id;
  std::string version; // ncclprobe's
  std::vector<std::string> arguments;
  // Variables of the inherited environment that can affect the result. They are compared, and not
  // stored as they are.
  std::vector<model::Setting> environment;
  std::string plan;                              // text of the plan file it read; empty without one
  std::optional<model::HostInventory> inventory; // from the first supervisor of each host
  std::optional<Error> problem;                  // why this supervisor cannot continue
};
// Other builds may send fewer fields. Their version is reported later, with a better message.
NCCLPROBE_PARTLY_LENIENT_FIELDS(SupervisorReport, (hostname, boot_id, version, arguments, plan),
                                (environment, inventory, problem))
std::string encode_report(const SupervisorReport& report);
Result<SupervisorReport> decode_report(const std::string& text);

// Number of each supervisor's host, in order of first appearance. As for NCCL (its getHostHash()),
// a host is a name and a boot id: two pods on one node share the boot id, and do not share GPUs or
// memory. NCCL_HOSTID is not followed, because it does not change which GPUs a process sees.
std::vector<int> host_numbers(const std::vector<SupervisorReport>& reports);

// Compares the launcher's size of the job with MPI's. `environment` is the inherited one. Errors:
// mismatch, for instance srun without PMI, which starts N one-rank jobs.
Result<void> check_launcher(const std::map<std::string, std::string>& environment, int fleet_size);

// Variables of ranks that differ from rank 0's, by name, with values as they may be stored.
std::vector<model::RankVariable> environment_of_ranks(const std::vector<SupervisorReport>& reports,
                                                      const Layout& layout);

// Checks that no supervisor has a problem, and that arguments, plan and version are the same
// everywhere, and library versions the same on all hosts. Errors: the first problem, with the rank
// that has it; mismatch, naming the ranks or hosts that differ.
Result<void> check_agreement(const std::vector<SupervisorReport>& reports);

struct BackendChoice {
  std::string name;
  std::string reason;
};
// "auto" takes nvidia if every host can use it, else host; never synthetic. Errors: unsupported if
// the backend asked for cannot run here, with the reason; invalid_argument for an unknown name.
Result<BackendChoice> choose_backend(const std::string& asked,
                                     const std::vector<model::HostInventory>& hosts);

// What a supervisor drives. all_gpus: all GPUs of its host, if it is the only supervisor there.
// Otherwise, and with any other backend, the same as one_rank.
struct DeviceChoice {
  enum class Share { one_rank, all_gpus } share = Share::one_rank;
  std::vector<int> devices; // of each host, in this order; empty: all, from the first
};

// Places all ranks. With several supervisors each has one rank, unless the choice says
// otherwise; a single one drives `ranks` ranks (nullopt: all devices of the choice, else all GPUs
// of the host, or 2 on the CPU). Errors: unavailable, naming the ranks of a host that find no GPU.
Result<Layout> make_layout(const std::vector<SupervisorReport>& reports,
                           const std::vector<model::HostInventory>& hosts,
                           const std::string& backend, std::optional<int> ranks,
                           const DeviceChoice& choice = {});

} // namespace ncclprobe::launch
