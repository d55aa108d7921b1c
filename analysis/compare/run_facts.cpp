// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/compare/run_facts.h"

#include "machine/document.h"

#include "analysis/proof/proof.h"
#include "analysis/reference/reference_range.h"
#include "analysis/report/label_words.h"
#include "analysis/results/conditions.h"
#include "analysis/results/rank_gpu.h"
#include "base/hash.h"
#include "base/json_document.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <tuple>

namespace ncclprobe::analysis::compare {
namespace {

constexpr std::size_t k_most_values = 3; // of a side that are named

// The different values over all hosts or ranks, joined.
class Values {
public:
  void add(const std::string& value) {
    if (!value.empty())
      values_.insert(printable(value));
  }
  std::string text() const { return fmt::format("{}", fmt::join(values_, " + ")); }

private:
  std::set<std::string> values_;
};

std::string
over_hosts(const model::RunHeader& header,
           const std::function<std::string(const model::HostInventory&)>& value_of_host) {
  Values values;
  for (const model::HostInventory& host : header.hosts)
    values.add(value_of_host(host));
  return values.text();
}

std::string gpu_models(const model::RunHeader& header) {
  Values values;
  for (const model::RankPlace& place : header.ranks)
    if (const model::CudaDevice* gpu = gpu_of(header, place))
      values.add(gpu->name);
  return values.text();
}

// "NVLink 450 GB/s", "PCIe 63 GB/s"; empty if unknown.
std::string fabric_of(const model::HostInventory& host) {
  const auto links = node_links(host);
  if (!links || !links->nvlink_gb_per_s)
    return "";
  if (*links->nvlink_gb_per_s > 0)
    return fmt::format("NVLink {:g} GB/s", *links->nvlink_gb_per_s);
  return links->pcie_gb_per_s ? fmt::format("PCIe {:g} GB/s", *links->pcie_gb_per_s) : "PCIe";
}

std::string fabric_class(const model::RunHeader& header) {
  const std::string inside = over_hosts(header, fabric_of);
  if (header.hosts.size() < 2)
    return inside;
  Values nics;
  for (const model::HostInventory& host : header.hosts)
    for (const topology::Nic& nic : host.topology.nics)
      if (nic.kind)
        nics.add(std::string(base::to_string(*nic.kind)));
  const std::string between = nics.text();
  return inside + (inside.empty() || between.empty() ? "" : ", ") + between;
}

std::string library_version(const model::RunHeader& header, const char* name) {
  return over_hosts(header, [name](const model::HostInventory& host) {
    const model::Library* library = host.library(name);
    return library ? library->version : "";
  });
}

std::string driver_version(const model::RunHeader& header) {
  const std::string told = over_hosts(header, [](const model::HostInventory& host) {
    return host.topology.driver_version.value_or("");
  });
  return told.empty() ? library_version(header, "cuda_driver") : told;
}

std::string gpu_firmware(const model::RunHeader& header) {
  Values values;
  for (const model::HostInventory& host : header.hosts)
    for (const topology::Gpu& gpu : host.topology.gpus)
      values.add(gpu.vbios.value_or(""));
  return values.text();
}

// Links and devices, without what changes from one moment to the next. Long, so as a fingerprint.
std::string topology_of(const model::HostInventory& host) {
  if (host.topology.gpus.empty())
    return "";
  topology::Host lasting = host.topology;
  lasting.name = {};
  lasting.id = {};
  lasting.driver_version = {};
  lasting.cuda_driver_version = {};
  for (topology::Gpu& gpu : lasting.gpus) {
    gpu.uuid = {};
    gpu.vbios = {};
    gpu.sm_clock_mhz = {};
    gpu.memory_clock_mhz = {};
    gpu.pcie.generation_now = {};
    gpu.pcie.width_now = {};
    gpu.rank = {};
  }
  return fmt::format("{:016x}", base::Hash().add(base::write_json(lasting)).value());
}

// "0:0 0:1 1:0": host and GPU by rank.
std::string placement_of(const model::RunHeader& header) {
  std::string text;
  for (const model::RankPlace& place : header.ranks)
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", place.host, place.device);
  return text;
}

// The highest: a GPU that pauses between cells reads low clocks too.
std::string clock_of(const ConditionSummary& conditions) {
  return conditions.sm_clock_mhz ? fmt::format("up to {} MHz", conditions.sm_clock_mhz->second)
                                 : "";
}

class Facts {
public:
  void add(FactKind kind, std::string value, std::string name = "") {
    if (!value.empty())
      all_.push_back({kind, std::move(name), std::move(value)});
  }
  std::vector<RunFact> take() {
    std::ranges::sort(all_, {}, [](const RunFact& one) { return std::tie(one.kind, one.name); });
    return std::move(all_);
  }

private:
  std::vector<RunFact> all_;
};

void add_choices(const RunSummary& run, Facts& facts) {
  for (const SettingProof& proof : setting_proofs(run)) {
    if (!proof.is_default)
      continue;
    for (const CellProof& cell : proof.cells)
      if (auto use = one_use(proof, cell.label))
        facts.add(FactKind::choice, in_words(*use),
                  describe(cell.label) + ", " + size_text(cell.label.bytes));
    return;
  }
}

// How many runs of a side have each value of one fact.
using ValuesOfSide = std::map<std::string, std::size_t>;

// A variable that a run lacks is not set there.
void add_runs_without(ValuesOfSide& values, std::size_t runs) {
  for (const auto& [value, count] : values)
    runs -= count;
  if (runs > 0)
    values[""] += runs;
}

bool has_another(const ValuesOfSide& values, const ValuesOfSide& than) {
  return std::ranges::any_of(values, [&](const auto& one) { return !than.contains(one.first); });
}

// The most frequent first.
std::string in_words(const ValuesOfSide& values, std::size_t runs) {
  if (values.size() == 1)
    return values.begin()->first;
  std::vector<std::pair<std::string, std::size_t>> sorted(values.begin(), values.end());
  std::ranges::stable_sort(sorted, std::ranges::greater{}, [](auto& one) { return one.second; });
  std::string text;
  for (std::size_t i = 0; i < std::min(sorted.size(), k_most_values); ++i) {
    const auto& [value, count] = sorted[i];
    text += fmt::format("{}{} ({} of {} runs)", i == 0 ? "" : ", ",
                        value.empty() ? "not set" : value, count, runs);
  }
  if (sorted.size() > k_most_values)
    text += fmt::format(", {} more values", sorted.size() - k_most_values);
  return text;
}

} // namespace

std::vector<RunFact> facts_of(const RunSummary& run) {
  const model::RunHeader& header = run.header;
  Facts facts;
  facts.add(FactKind::backend, printable(header.backend));
  facts.add(FactKind::gpu, gpu_models(header));
  facts.add(FactKind::fabric, fabric_class(header));
  facts.add(FactKind::ranks, fmt::format("{}", header.ranks.size()));
  facts.add(FactKind::hosts, fmt::format("{}", header.hosts.size()));
  facts.add(FactKind::nccl, library_version(header, "nccl"));
  facts.add(FactKind::driver, driver_version(header));
  facts.add(FactKind::firmware, gpu_firmware(header));
  facts.add(FactKind::cuda, library_version(header, "cuda_runtime"));
  facts.add(FactKind::kernel,
            over_hosts(header, [](const model::HostInventory& host) { return host.kernel; }));
  facts.add(FactKind::mpi, printable(header.mpi_version));
  facts.add(FactKind::cpu,
            over_hosts(header, [](const model::HostInventory& host) { return host.cpu_model; }));
  for (const model::Setting& variable : header.environment)
    facts.add(FactKind::variable, printable(variable.value), printable(variable.name));
  for (const model::Setting& file : header.files)
    facts.add(FactKind::plugin, printable(file.value), printable(file.name));
  facts.add(FactKind::host_names,
            over_hosts(header, [](const model::HostInventory& host) { return host.hostname; }));
  facts.add(FactKind::boot,
            over_hosts(header, [](const model::HostInventory& host) { return host.boot_id; }));
  facts.add(FactKind::topology, over_hosts(header, topology_of));
  facts.add(FactKind::placement, placement_of(header));
  const ConditionSummary conditions = summarise_conditions(run);
  facts.add(FactKind::sm_clock, clock_of(conditions));
  if (conditions.throttle_reasons)
    facts.add(FactKind::throttling, *conditions.throttle_reasons == 0
                                        ? "none"
                                        : throttle_text(*conditions.throttle_reasons));
  add_choices(run, facts);
  facts.add(FactKind::ncclprobe, printable(header.ncclprobe_version));
  return facts.take();
}

std::string value_of(const std::vector<RunFact>& facts, FactKind kind) {
  auto found = std::ranges::find(facts, kind, &RunFact::kind);
  return found == facts.end() ? "" : found->value;
}

std::vector<Suspect> suspects(const std::vector<RunFact>& a, const std::vector<RunFact>& b) {
  return suspects(FactsOfRuns{&a}, FactsOfRuns{&b}, false);
}

std::vector<Suspect> suspects(const FactsOfRuns& a, const FactsOfRuns& b, bool a_is_baseline) {
  std::map<std::pair<FactKind, std::string>, std::array<ValuesOfSide, 2>> all;
  for (const auto& [runs, side] : {std::pair(&a, std::size_t{0}), std::pair(&b, std::size_t{1})})
    for (const std::vector<RunFact>* facts : *runs)
      for (const RunFact& fact : *facts)
        ++all[{fact.kind, fact.name}][side][fact.value];
  std::vector<Suspect> different;
  for (auto& [key, sides] : all) {
    auto& [of_a, of_b] = sides;
    if (key.first == FactKind::variable) {
      add_runs_without(of_a, a.size());
      add_runs_without(of_b, b.size());
    }
    if (of_a.empty() || of_b.empty())
      continue; // unknown
    if (has_another(of_b, of_a) || (!a_is_baseline && has_another(of_a, of_b)))
      different.push_back(
          {key.first, key.second, in_words(of_a, a.size()), in_words(of_b, b.size())});
  }
  return different;
}

} // namespace ncclprobe::analysis::compare
