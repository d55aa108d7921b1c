// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/imports/nccl_tests_json.h"

#include "analysis/imports/json_access.h"
#include "analysis/imports/nccl_tests_rows.h"
#include "base/stored_variables.h"
#include "base/text_files.h"
#include "model/survey.h"

#include <algorithm>

namespace ncclprobe::analysis::imports {
namespace {

constexpr std::int64_t k_most_of_process = 1024; // GPUs

int small_number(const Json& json, int otherwise) {
  const auto value = integer_in(json);
  return value && *value >= 0 && *value <= 1'000'000'000 ? static_cast<int>(*value) : otherwise;
}

// The value behind "-R" or "--local_register", also as "-R1".
std::string argument(const Json& args, std::string_view brief, std::string_view whole) {
  if (!args.is_array())
    return "";
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string word = text_in(args[i]);
    if ((word == brief || word == whole) && i + 1 < args.size())
      return text_in(args[i + 1]);
    if (word.starts_with(brief) && word.size() > brief.size())
      return word.substr(brief.size());
  }
  return "";
}

std::vector<model::Setting> environment_in(const Json& list) {
  std::vector<model::Setting> environment;
  if (!list.is_array())
    return environment;
  for (const Json& one : list) {
    const std::string text = text_in(one);
    const std::size_t sign = text.find('=');
    if (sign == std::string::npos)
      continue;
    const std::string name = text.substr(0, sign);
    if (model::bears_on_communication(name))
      environment.push_back({name, base::stored_value(name, text.substr(sign + 1))});
  }
  std::ranges::sort(environment, {}, &model::Setting::name);
  return environment;
}

// The list holds the first rank of each process; each drives `of_process` ranks, on GPUs that
// follow each other (util.cu, writeDeviceReport).
void add_ranks(ImportedProcess& process, const Json& devices, int of_process) {
  if (!devices.is_array())
    return;
  for (const Json& device : devices) {
    const ImportedRank first{.rank = small_number(member(device, "rank"), 0),
                             .hostname = text_in(member(device, "hostname")),
                             .pid = small_number(member(device, "pid"), 0),
                             .device = small_number(member(device, "device"), 0),
                             .gpu = text_in(member(device, "device_info")),
                             .pci_bus_id = text_in(member(device, "device_hex")) + ".0",
                             .group = small_number(member(device, "group"), 0)};
    for (int i = 0; i < of_process; ++i) {
      ImportedRank rank = first;
      rank.rank += i;
      rank.device += i;
      if (i > 0)
        rank.pci_bus_id.clear();
      process.ranks.push_back(std::move(rank));
    }
  }
  if (of_process > 1)
    process.remarks.push_back("nccl-tests' JSON lists the first GPU of each process; the others "
                              "are taken to be the next ones, of the same model.");
}

NcclTestsSetup setup_in(const Json& config) {
  NcclTestsSetup setup;
  if (const auto iterations = integer_in(member(config, "iterations")); iterations)
    setup.iterations = small_number(member(config, "iterations"), 1);
  setup.operations_per_iteration = small_number(member(config, "aggregated_iterations"), 1);
  setup.warmups = small_number(member(config, "warmup_iters"), 0);
  setup.graph_launches = small_number(member(config, "graph"), 0);
  setup.checks = small_number(member(config, "validation"), 0);
  setup.blocking = text_in(member(config, "blocking_collectives")) == "true";
  return setup;
}

// Adds the halves that are there. False if the result is not understood.
bool add_result(const Json& result, NcclTestsSetup& setup, std::vector<NcclTestsRow>& rows) {
  NcclTestsRow row;
  const auto bytes = integer_in(member(result, "size"));
  const auto type = nccl_tests_type(text_in(member(result, "type")));
  if (!bytes || *bytes < 0 || !type)
    return false;
  row.bytes = static_cast<std::uint64_t>(*bytes);
  row.type = *type;
  row.op = text_in(member(result, "redop"));
  row.root = text_in(member(result, "root")); // "    -1"
  row.root.erase(0, row.root.find_first_not_of(' '));
  for (const auto& [name, placement] : {std::pair("out_of_place", model::Placement::out_of_place),
                                        std::pair("in_place", model::Placement::in_place)}) {
    const Json& half = member(result, name);
    if (!half.is_object())
      continue;
    setup.cpu_time |= half.contains("cpu_time");
    const auto time_us = number_in(member(half, "time"));
    if (!time_us && !setup.cpu_time)
      return false;
    row.placement = placement;
    row.time_us = time_us.value_or(0);
    row.busbw_gb_per_s = number_in(member(half, "bus_bw")).value_or(0);
    row.wrong.reset();
    row.why_unchecked = "nccl-tests did not check the data (-c 0)";
    if (const auto wrong = number_in(member(half, "nwrong")); wrong && *wrong >= 0 && *wrong < 1e18)
      row.wrong = static_cast<std::uint64_t>(*wrong);
    rows.push_back(row);
  }
  return true;
}

} // namespace

Result<ImportedProcesses> read_nccl_tests_json(std::string_view text, const ImportHints& hints) {
  NCCLPROBE_TRY_ASSIGN(const Document document, read_document(text));
  const Json& json = document.json;
  const Json& config = member(json, "config");
  ImportedProcess process;
  if (const auto code = integer_in(member(json, "nccl_version")); code && *code > 0)
    process.libraries.push_back(
        {.name = "nccl", .version = nccl_version_of_code(small_number(*code, 0))});
  process.started = text_in(member(json, "start_time"));
  process.environment = environment_in(member(json, "env"));
  const std::int64_t of_process = std::int64_t{small_number(member(config, "nthreads"), 1)} *
                                  small_number(member(config, "ngpus"), 1);
  if (of_process < 1 || of_process > k_most_of_process)
    return fail(Errc::invalid_argument, "it says that a process has {} GPUs", of_process);
  add_ranks(process, member(config, "devices"), static_cast<int>(of_process));

  NcclTestsSetup setup = setup_in(config);
  std::vector<NcclTestsRow> rows;
  const Json& results = member(json, "results");
  std::size_t unknown = 0, per_iteration = 0;
  if (results.is_array())
    for (const Json& result : results) {
      unknown += !add_result(result, setup, rows);
      per_iteration += result.contains("in_place_per_iter");
    }
  if (rows.empty())
    return fail(Errc::invalid_argument, "it has no results");
  const Json& args = member(json, "args");
  setup.unaligned_elements =
      base::number_of<std::uint64_t>(argument(args, "-u", "--unalign")).value_or(0);
  std::optional<model::Collective> named = hints.collective;
  if (!named && args.is_array() && !args.empty())
    named = collective_of_program(text_in(args.front()));
  NCCLPROBE_TRY(check_ranks(process, hints));
  NCCLPROBE_TRY(add_rows(process, rows, setup, named));

  if (const std::string memory = argument(args, "-R", "--local_register");
      memory == "1" || memory == "2") {
    for (ImportedCell& cell : process.cells)
      std::get<model::CollectiveLabel>(cell.label.what).memory = model::Memory::registered;
    if (memory == "2")
      process.remarks.push_back("Its buffers were symmetric windows (-R 2), which ncclprobe does "
                                "not measure; they are shown as registered memory.");
  }
  if (unknown > 0)
    process.remarks.push_back(fmt::format("{} results were not understood.", unknown));
  if (per_iteration > 0)
    process.remarks.push_back("The times of single iterations (-I) were left out.");
  if (document.was_cut || member(json, "average_bus_bandwidth").is_null())
    process.remarks.push_back("The file ends before nccl-tests' summary, so sizes may be missing.");
  ImportedProcesses all;
  all.push_back(std::move(process));
  return all;
}

} // namespace ncclprobe::analysis::imports
