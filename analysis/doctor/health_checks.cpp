// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// D11, D22, D33: GPU health. Reads only; repairs are left to the administrator.
#include "analysis/doctor/check_results.h"
#include "analysis/doctor/facts.h"
#include "analysis/doctor/gpu_results.h"
#include "analysis/doctor/load.h"
#include "analysis/doctor/xids.h"
#include "analysis/results/conditions.h"
#include "base/text_layout.h"

#include <algorithm>
#include <tuple>

namespace ncclprobe::analysis::doctor {
namespace {

using model::GpuHealth;

// NVML's bits (nvml.h, nvmlClocksEventReason*).
constexpr std::uint64_t k_application_clocks = 0x2;
constexpr std::uint64_t k_power_cap = 0x4;
constexpr std::uint64_t k_hot_or_brake = 0x8 | 0x20 | 0x40 | 0x80;

// Our limits for counts since the driver was loaded. Fewer errors are repaired without effect.
constexpr std::uint64_t k_corrected_memory_errors = 1000;
constexpr std::uint64_t k_crc_errors_of_link = 1000;
// Our limit. NVIDIA's driver can retire 64 pages of a GPU in its whole life.
constexpr int k_many_retired_pages = 60;

// The kernel log's reason why NVML cannot open a GPU, if it gives one.
void check_lost(const model::Survey& survey, const GpuHealth& gpu, GpuResults& host) {
  const std::vector<model::Xid>& xids = survey.host->kernel_log.xids;
  bool off_the_bus = std::any_of(xids.begin(), xids.end(), [&](const model::Xid& xid) {
    return xid.number == 79 && same_pci(xid.pci_bus_id + ".0", gpu.pci_bus_id);
  });
  host.bad("D11", CheckStatus::fail,
           off_the_bus ? What("gpu_off_the_bus", "a GPU does not respond")
                       : What("gpu_lost", "a GPU does not respond"),
           gpu, "NVML counts it but cannot open it",
           off_the_bus ? "it has fallen off the bus (Xid 79)" : "no program can use it",
           off_the_bus
               ? "restart the node; check power and risers"
               : "nvidia-smi -i {gpus} gives the reason; dmesg | grep -i xid: 79 means that "
                 "it has fallen off the bus");
}

void check_memory_errors(const GpuHealth& gpu, GpuResults& host) {
  if (gpu.ecc_on && gpu.ecc_on_after_reset && *gpu.ecc_on != *gpu.ecc_on_after_reset)
    host.bad("D11", CheckStatus::warn,
             {"ecc_changes", "a change of ECC mode takes effect at the next reset"}, gpu,
             fmt::format("ECC is {}, will be {}", *gpu.ecc_on ? "on" : "off",
                         *gpu.ecc_on_after_reset ? "on" : "off"),
             "bandwidth and memory size will then change", "reboot when the node is free");
  if (gpu.ecc_on == false && gpu.ecc_on_after_reset == false)
    host.bad("D11", CheckStatus::info, {"ecc_off", "ECC is off"}, gpu,
             "current and pending mode: off", "memory errors are not detected",
             "nvidia-smi -e 1 and a reset (administrator)");
  if (gpu.uncorrected_since_reset.value_or(0) > 0)
    host.bad("D11", CheckStatus::fail,
             {"uncorrected_errors", "uncorrected memory errors since the driver was loaded"}, gpu,
             fmt::format("{} since then, {} ever", *gpu.uncorrected_since_reset,
                         shown(gpu.uncorrected_ever)),
             "the driver killed processes that hit one; earlier results may be wrong",
             "take the node out of service; nvidia-smi -q -d ECC,ROW_REMAPPER; then the "
             "administrator resets the GPU");
  else if (gpu.uncorrected_ever.value_or(0) > 0)
    host.bad("D11", CheckStatus::info,
             {"uncorrected_errors_before",
              "uncorrected memory errors in the GPU's life, none since the last reset"},
             gpu, fmt::format("{} ever", *gpu.uncorrected_ever), "", "");
  if (gpu.corrected_since_reset.value_or(0) > k_corrected_memory_errors)
    host.bad("D11", CheckStatus::warn, {"corrected_errors", "many corrected memory errors"}, gpu,
             fmt::format("{} since the driver was loaded (our limit: {})",
                         *gpu.corrected_since_reset, k_corrected_memory_errors),
             "the memory will fail; each error costs a little time",
             "watch it: nvidia-smi -q -d ECC");
  if (gpu.remap_failed == true)
    host.bad("D11", CheckStatus::fail, {"remap_failed", "remapping a memory row has failed"}, gpu,
             "no spare row was left (Xid 64)", "the GPU must be replaced",
             "contact the vendor (RMA)");
  if (gpu.remap_pending == true)
    host.bad("D11", CheckStatus::warn, {"remap_pending", "a memory row is waiting to be remapped"},
             gpu, "takes effect at the next reset (Xid 63)", "the bad row is still in use",
             "drain the node, then nvidia-smi -r -i {gpus} (administrator; all GPUs connected to "
             "these by NVLink or NVSwitch must be idle, and may have to be reset with them)");
  if (gpu.retirement_pending == true)
    host.bad(
        "D11", CheckStatus::warn, {"retirement_pending", "a memory page is waiting to be retired"},
        gpu, fmt::format("{} pages retired so far", shown(gpu.retired_pages)),
        "the bad page is still in use", "drain the node, then reload the driver (administrator)");
  if (gpu.retired_pages.value_or(0) >= k_many_retired_pages)
    host.bad(
        "D11", CheckStatus::fail,
        {"pages_nearly_used_up", "nearly all retirable memory pages are used up"}, gpu,
        fmt::format("{} of 64 pages (our limit: {})", *gpu.retired_pages, k_many_retired_pages),
        "the next bad page stays in use",
        "contact the vendor (RMA); nvidia-smi -i {gpus} -q -d PAGE_RETIREMENT");
  else if (gpu.retired_pages.value_or(0) > 0)
    host.bad("D11", CheckStatus::info, {"pages_retired", "memory pages were retired after errors"},
             gpu,
             fmt::format("{} of 64 retirable pages (our limit: {})", *gpu.retired_pages,
                         k_many_retired_pages),
             "", "");
  if (gpu.remapped_rows_uncorrected.value_or(0) > 0)
    host.bad(
        "D11", CheckStatus::info,
        {"rows_remapped", "memory rows were remapped after uncorrected errors"}, gpu,
        base::count_of(static_cast<std::size_t>(*gpu.remapped_rows_uncorrected), "row", "rows"), "",
        "");
}

// Sum over all links of a GPU; absent if no link reported.
struct LinkSum {
  std::optional<std::uint64_t> recoveries;
  std::optional<std::uint64_t> replays;
  std::optional<std::uint64_t> crc_errors;
  std::optional<std::uint64_t> receive_errors;

  void add(const model::NvLinkErrors& link) {
    auto more = [](auto& sum, const auto& value) {
      if (value)
        sum = sum.value_or(0) + *value;
    };
    more(recoveries, link.recoveries);
    more(replays, link.replays);
    more(crc_errors, link.crc_errors);
    more(receive_errors, link.receive_errors);
  }
  std::string text() const {
    std::string text = fmt::format("{} recoveries", shown(recoveries));
    if (replays || crc_errors || !receive_errors)
      text += fmt::format(", {} replays, {} CRC errors", shown(replays), shown(crc_errors));
    if (receive_errors) // NVLink 5 counts these instead
      text += fmt::format(", {} receive errors", *receive_errors);
    return text;
  }
};

// One line per GPU. An NVSwitch node has more than a hundred links, and a few CRC errors on each
// are normal: NVLink repairs them.
void check_link_errors(const GpuHealth& gpu, GpuResults& host) {
  if (gpu.nvlink_errors.empty())
    return;
  auto badness = [](const model::NvLinkErrors& link) {
    return std::tuple(link.recoveries.value_or(0), link.replays.value_or(0),
                      link.crc_errors.value_or(0));
  };
  LinkSum all;
  const model::NvLinkErrors* worst = &gpu.nvlink_errors.front();
  bool many_crc = false;
  for (const model::NvLinkErrors& link : gpu.nvlink_errors) {
    all.add(link);
    many_crc = many_crc || link.crc_errors.value_or(0) > k_crc_errors_of_link;
    if (badness(link) > badness(*worst))
      worst = &link;
  }
  bool retrained = all.recoveries.value_or(0) > 0;
  if (!retrained && all.replays.value_or(0) == 0 && !many_crc)
    return;
  LinkSum of_worst;
  of_worst.add(*worst);
  host.bad("D11", retrained ? CheckStatus::warn : CheckStatus::info,
           retrained ? What("nvlink_retrained", "an NVLink was retrained")
                     : What("nvlink_errors", "an NVLink repeated packets, or had many CRC errors"),
           gpu,
           fmt::format("{} on {} since the driver was loaded; worst: link {} with {} (our "
                       "limit: {} CRC errors per link)",
                       all.text(), base::count_of(gpu.nvlink_errors.size(), "link", "links"),
                       worst->link, of_worst.text(), k_crc_errors_of_link),
           retrained ? "traffic stops while a link recovers: outliers, or Xid 74"
                     : "little, unless the count grows during a run",
           "nvidia-smi nvlink -e, before and after a run");
}

void check_clocks(const GpuHealth& gpu, GpuResults& host) {
  std::uint64_t reasons = gpu.throttle_reasons.value_or(0);
  std::string clocks = fmt::format("{} of {} MHz, {} W of {} W, {} C", shown(gpu.sm_clock_mhz),
                                   shown(gpu.most_sm_clock_mhz), shown_watts(gpu.power_mw),
                                   shown_watts(gpu.power_limit_mw), shown(gpu.temperature_c));
  if ((reasons & k_hot_or_brake) != 0)
    host.bad("D22", CheckStatus::fail,
             {"heat_or_power_brake", "heat or the power supply slows a GPU down"}, gpu,
             fmt::format("{} ({})", throttle_text(reasons), clocks), "clocks drop far below normal",
             "check fans, air flow and power supplies; nvidia-smi -q -d PERFORMANCE");
  else if ((reasons & k_power_cap) != 0)
    host.bad("D22", CheckStatus::warn, {"power_limit_reached", "a GPU has reached its power limit"},
             gpu, clocks, "clocks are lower than requested",
             "nvidia-smi -q -d POWER; who else uses it?");
  if ((reasons & k_application_clocks) != 0)
    host.bad("D22", CheckStatus::warn, {"application_clocks", "application clocks are fixed"}, gpu,
             clocks, "the GPU never reaches its full clock",
             "nvidia-smi -i {gpus} -rac (administrator)");
  if (gpu.power_limit_mw && gpu.default_power_limit_mw &&
      *gpu.power_limit_mw < *gpu.default_power_limit_mw)
    host.bad("D22", CheckStatus::warn,
             {"power_limit_lowered",
              "the power limit is below the GPU's default",
              {{"default_w", *gpu.default_power_limit_mw / 1000}}},
             gpu,
             fmt::format("{} W instead of {} W", *gpu.power_limit_mw / 1000,
                         *gpu.default_power_limit_mw / 1000),
             "lower clocks under load", "nvidia-smi -i {gpus} -pl {default_w} (administrator)");
}

void check_persistence(const model::Survey& survey, CheckResults& into) {
  bool daemon = survey.host &&
                std::find(survey.host->driver.services.begin(), survey.host->driver.services.end(),
                          "nvidia-persistenced") != survey.host->driver.services.end();
  std::vector<std::string> off;
  bool told = true;
  for (const GpuHealth& gpu : survey.health) {
    told = told && gpu.persistence.has_value();
    if (gpu.persistence == false)
      off.push_back(gpu_label(gpu));
  }
  if (off.empty() || daemon) {
    into.add_host(survey,
                  {"D33", told || daemon ? CheckStatus::ok : CheckStatus::unknown,
                   told || daemon
                       ? What("driver_stays_loaded", "the driver stays loaded between programs")
                       : What("persistence_unknown", "NVML does not report the persistence mode")});
    return;
  }
  into.add_host(survey, {"D33",
                         CheckStatus::warn,
                         {"persistence_off", "persistence mode is off"},
                         off,
                         "the driver initialises the GPU for each program: every start takes "
                         "seconds longer, and error counters are lost",
                         "systemctl enable --now nvidia-persistenced (administrator)"});
}

} // namespace

void check_health(const Case& one, CheckResults& into) {
  for (const model::Survey& survey : one.surveys) {
    if (!survey.host)
      continue;
    if (survey.health.empty()) {
      if (!survey.inventory.gpus.empty())
        into.add_host(survey, {"D11",
                               CheckStatus::unknown,
                               {"health_unknown", "NVML does not report the GPUs' health"},
                               {survey.health_problem},
                               "",
                               "nvidia-smi -q"});
      continue;
    }
    GpuResults memory(survey);
    GpuResults clocks(survey);
    std::vector<std::string> untold_memory;
    std::vector<std::string> untold_clocks;
    for (const GpuHealth& gpu : survey.health) {
      if (gpu.uuid.empty())
        check_lost(survey, gpu, memory);
      check_memory_errors(gpu, memory);
      check_link_errors(gpu, memory);
      check_clocks(gpu, clocks);
      note_untold(
          gpu,
          {{"uncorrected memory errors", gpu.uncorrected_since_reset || gpu.ecc_on == false},
           {"remapped rows or retired pages",
            gpu.remap_failed || gpu.retired_pages || gpu.ecc_on == false},
           {"NVLink errors", gpu.active_nvlinks.value_or(0) == 0 || !gpu.nvlink_errors.empty()}},
          untold_memory);
      note_untold(gpu, {{"throttle reasons", gpu.throttle_reasons.has_value()}}, untold_clocks);
    }
    memory.finish("D11", {"gpus_healthy", "no memory or link errors"}, untold_memory, into);
    clocks.finish("D22", {"nothing_slows_gpus", "nothing slows the GPUs down"}, untold_clocks,
                  into);
    check_xids(survey, into);
    check_persistence(survey, into);
  }
  check_load(one, into);
}

} // namespace ncclprobe::analysis::doctor
